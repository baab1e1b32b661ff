#include "consistency/service.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::consistency {
namespace {

using replica_client::Refutation;
using replica_client::ReplicatedFailure;

constexpr std::uint64_t kFailingPercent = 3;
constexpr std::uint64_t kUnavailablePercent = 4;  // of executed reads: the group agrees on a 503
constexpr std::uint64_t kSlowPercent = 10;        // of calls, where it is busy
constexpr std::uint64_t kSlowStepPercent = 5;     // of their turns; else they wait
constexpr std::size_t kFewCalls = 3;

}  // namespace

Service::Service(const RunSettings& settings, const sketch::Profile& profile,
                 simulation::Random& random, OnRefuted on_refuted, OnStrong on_strong,
                 OnWritten on_written)
    : settings_(settings),
      random_(random),
      on_refuted_(std::move(on_refuted)),
      on_strong_(std::move(on_strong)),
      on_written_(std::move(on_written)),
      origins_(settings, random),
      forms_(profile) {}

void Service::calm_down() {
  is_calm_ = true;
  is_hanging_ = false;
  origins_.calm_down();
}

std::uint64_t Service::submit(std::string_view wire, CallHandler& handler) {
  Call call;
  call.wire = wire;
  call.handler = &handler;
  const PageRequest request = parse_page_request(wire);
  call.is_write = request.is_write;
  call.first_state = origins_.states()[request.key].size() - 1;
  call.asked = settings_.has_votes ? votes_.newest() : sigma_;
  call.is_slow = settings_.is_busy && random_.chance(kSlowPercent);
  call.is_overload = settings_.has_few_calls && !is_calm_ && calls_.size() >= kFewCalls;
  overloads_ += call.is_overload ? 1 : 0;
  if (settings_.variant.world == BrokenWorld::votes_numbered_early) call.sigma = votes_.next();
  calls_.emplace(++last_call_, std::move(call));
  return last_call_;
}

void Service::cancel(std::uint64_t number) {
  const auto found = calls_.find(number);
  if (found == calls_.end()) return;
  Call& call = found->second;
  call.handler = nullptr;
  if (!call.is_write || call.is_executed || call.is_overload) calls_.erase(found);
}

// Once it is calm, the oldest has its turn half of the time.
std::uint64_t Service::choose() {
  if (is_calm_ && random_.chance(50)) return calls_.begin()->first;
  return std::next(calls_.begin(), static_cast<std::ptrdiff_t>(random_.below(calls_.size())))
      ->first;
}

void Service::advance() {
  if ((!late_.empty() || !late_strong_.empty()) && random_.chance(20)) return report_late();
  if (calls_.empty() || is_hanging_) return;
  const std::uint64_t number = choose();
  Call& call = calls_.at(number);
  if (call.is_overload) return fail(number);
  if (!is_calm_ && call.is_slow && !random_.chance(kSlowStepPercent)) return;
  if (!is_calm_ && call.handler != nullptr && random_.chance(kFailingPercent)) return fail(number);
  const bool is_early = settings_.variant.world == BrokenWorld::write_answered_early &&
                        call.is_write && call.handler != nullptr && !call.is_executed;
  if (is_early && !call.answer) {
    call.answer = forms_.of({.text = "written"}, parse_page_request(call.wire)).encoded;
  }
  if (call.is_executed || is_early) return answer(number);
  execute(number, call);
  if (call.handler == nullptr) calls_.erase(number);
}

void Service::execute(std::uint64_t number, Call& call) {
  const PageRequest request = parse_page_request(call.wire);
  if (call.is_write) {
    const std::string value(request.value);
    origins_.write(request.key, value);
    on_written_(value);
  }
  if (!settings_.has_votes) call.sigma = next_sigma();
  call.is_executed = true;
  vote(number, call, request);
}

std::vector<std::optional<PageAnswer>> Service::votes_on(const Call& call,
                                                         const PageRequest& request) {
  const std::string value = request.is_of_register() ? origins_.current(request.key) : "";
  const bool is_unavailable = !is_calm_ && !call.is_write && random_.chance(kUnavailablePercent);
  std::vector<std::optional<PageAnswer>> votes(settings_.origins);
  for (std::size_t origin = 0; origin < votes.size(); ++origin) {
    votes[origin] = is_unavailable && !settings_.is_liar(origin)
                        ? PageAnswer{.status = 503, .text = value}
                        : origins_.honest_answer(origin, request, value);
  }
  // Without an order, a correct origin may have answered before a write that the others have seen.
  const auto& states = origins_.states()[request.key];
  const bool is_split = settings_.has_votes && request.is_of_register() && !call.is_write &&
                        states.size() > call.first_state + 1 && random_.chance(30);
  if (is_split) {
    const std::size_t state = random_.between(call.first_state, states.size() - 2);
    const std::size_t origin = random_.below(settings_.correct());
    votes[origin] = origins_.honest_answer(origin, request, states[state]);
  }
  // An application issues a session from agreed input: the same at each origin, a fresh one for
  // each call.
  if (request.page == Page::cookie) {
    const std::string cookie = origins_.new_cookie();
    for (auto& vote : votes) {
      if (vote->status == 200) vote->cookie = cookie;
    }
  }
  Liars& liars = origins_.liars();
  for (std::size_t origin = settings_.correct(); origin < votes.size(); ++origin) {
    if (!liars.lies_in_vote(request)) continue;
    votes[origin] = liars.echoes() ? votes[random_.below(settings_.correct())]
                                   : liars.lie(request, origins_.states());
  }
  return votes;
}

// The votes come in an order of their own; the first f+1 equal ones decide.
void Service::vote(std::uint64_t number, Call& call, const PageRequest& request) {
  const auto votes = votes_on(call, request);
  std::vector<std::size_t> order(votes.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size() - 1; i > 0; --i)
    std::swap(order[i], order[random_.below(i + 1)]);
  Outcome outcome = hold_ballot(settings_, forms_, request, votes, order);
  call.answer = std::move(outcome.agreed);
  call.is_strong = outcome.is_strong;
  for (const std::size_t origin : outcome.refuted) {
    Refutation refuted;
    refuted.replica = static_cast<NodeId>(origin);
    refuted.call = number;
    // Through agents a vote is known by its digest alone.
    refuted.vote_status = settings_.has_votes ? votes[origin]->status : 0;
    call.refuted.push_back(refuted);
  }
}

ReplicatedFailure Service::failure_of(const Call& call) {
  if (call.is_overload) return ReplicatedFailure::overloaded;
  if (settings_.has_votes && call.is_write && random_.chance(50)) {
    return ReplicatedFailure::uncertain_write;
  }
  return random_.chance(50) ? ReplicatedFailure::too_few_replicas : ReplicatedFailure::no_agreement;
}

void Service::fail(std::uint64_t number) {
  Call& call = calls_.at(number);
  CallHandler& handler = *call.handler;
  const ReplicatedFailure failure = failure_of(call);
  cancel(number);
  handler.on_call_failure(failure);
}

void Service::answer(std::uint64_t number) {
  Call& call = calls_.at(number);
  CallHandler& handler = *call.handler;
  const std::optional<Bytes> agreed = std::move(call.answer);
  const std::vector<Refutation> refuted = std::exchange(call.refuted, {});
  const bool is_numbered_early = settings_.variant.world == BrokenWorld::votes_numbered_early;
  const bool is_numbered_late =
      settings_.variant.world == BrokenWorld::update_ignores_sigma && !settings_.has_votes;
  replica_client::ReplicatedAnswer answer;
  answer.sigma = call.sigma;
  if (is_numbered_late) answer.sigma = next_sigma();
  if (settings_.has_votes && !is_numbered_early) {
    answer.sigma = votes_.next();
    answer.asked = call.asked;
  }
  const bool is_strong = call.is_strong;
  const bool is_late = random_.chance(50);
  if (is_strong && is_late) late_strong_.push_back(number);
  if (is_late) late_.insert(late_.end(), refuted.begin(), refuted.end());
  const bool is_write = call.is_write && !call.is_executed;
  if (is_write) {
    call.handler = nullptr;  // acknowledged before it is executed
  } else {
    cancel(number);
  }
  if (!is_late) report(refuted);
  if (is_strong && !is_late) on_strong_(number);
  if (!agreed) return handler.on_call_failure(ReplicatedFailure::no_agreement);
  answer.storage = *agreed;
  const auto form = sketch::decode(answer.storage);
  ASSERT(form.has_value());
  answer.form = *form;
  show_liars(*form);
  handler.on_call_answer(std::move(answer));
}

// What the group agreed on is known to the liars, too.
void Service::show_liars(const sketch::AnswerForm& form) {
  if (form.body.empty()) return;
  PageAnswer seen{.status = form.status, .text = std::string(form.body)};
  sketch::AnswerFields fields(form);
  std::string_view name;
  std::string_view value;
  while (fields.next(name, value)) {
    if (name == "set-cookie") seen.cookie = value;
  }
  origins_.liars().note_seen(seen);
}

void Service::report(const std::vector<Refutation>& refuted) {
  for (const Refutation& one : refuted)
    on_refuted_(one);
}

void Service::report_late() {
  report(std::exchange(late_, {}));
  for (const std::uint64_t call : std::exchange(late_strong_, {}))
    on_strong_(call);
}

void Service::restart_group() {
  sigma_ = 0;
  std::vector<std::uint64_t> lost;
  for (const auto& [number, call] : calls_) {
    if (call.handler != nullptr) lost.push_back(number);
  }
  for (const std::uint64_t number : lost) {
    if (calls_.contains(number)) fail(number);
  }
}

}  // namespace prophecy::consistency
