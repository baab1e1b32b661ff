#include "consistency/group/simulated_service.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::consistency {
namespace {

using replica_client::Refutation;
using replica_client::ReplicatedFailure;

constexpr std::uint64_t kFailingCallPercent = 3;
constexpr std::uint64_t kUnavailablePercent = 4;  // of executed reads: the group agrees on a 503
constexpr std::uint64_t kSlowCallPercent = 10;    // of calls, where it is busy
constexpr std::uint64_t kSlowTurnPercent = 5;     // of their turns; else they wait
constexpr std::size_t kFewCalls = 3;

}  // namespace

SimulatedService::SimulatedService(const RunSettings& settings, const sketch::Profile& profile,
                                   simulation::Random& random, Listener listener)
    : Service(settings, profile, random, std::move(listener)) {}

void SimulatedService::write_elsewhere(Key key, const std::string& value, Then then) {
  origins().write(key, value);
  then(true);
}

std::uint64_t SimulatedService::submit(std::size_t place, std::string_view wire,
                                       ReplicatedHandler& handler) {
  Call call;
  call.place = place;
  call.wire = wire;
  call.handler = &handler;
  const PageRequest request = parse_page_request(wire);
  call.is_write = request.is_write;
  call.first_state = origins().states()[request.key].size() - 1;
  call.asked = settings().has_votes ? votes(place).newest() : sigma_;
  call.is_slow = settings().is_busy && random().chance(kSlowCallPercent);
  call.is_overload = settings().has_few_calls && !is_calm() && calls_.size() >= kFewCalls;
  overloads_ += call.is_overload ? 1 : 0;
  if (settings().variant.world == BrokenWorld::votes_numbered_early)
    call.sigma = votes(place).next();
  calls_.emplace(++last_call_, std::move(call));
  return last_call_;
}

void SimulatedService::cancel(std::uint64_t number) {
  const auto found = calls_.find(number);
  if (found == calls_.end()) return;
  Call& call = found->second;
  call.handler = nullptr;
  if (!call.is_write || call.is_executed || call.is_overload) calls_.erase(found);
}

// Once it is calm, the oldest has its turn half of the time.
std::uint64_t SimulatedService::choose() {
  if (is_calm() && random().chance(50)) return calls_.begin()->first;
  return std::next(calls_.begin(), static_cast<std::ptrdiff_t>(random().below(calls_.size())))
      ->first;
}

void SimulatedService::advance() {
  if ((!late_.empty() || !late_strong_.empty()) && random().chance(20)) return report_late();
  if (calls_.empty() || is_hanging()) return;
  const std::uint64_t number = choose();
  Call& call = calls_.at(number);
  if (call.is_overload) return fail(number);
  if (!is_calm() && call.is_slow && !random().chance(kSlowTurnPercent)) return;
  if (!is_calm() && call.handler != nullptr && random().chance(kFailingCallPercent))
    return fail(number);
  const bool is_early = settings().variant.world == BrokenWorld::write_answered_early &&
                        call.is_write && call.handler != nullptr && !call.is_executed;
  if (is_early && !call.answer) {
    call.answer = forms().of({.text = "written"}, parse_page_request(call.wire)).encoded;
  }
  if (call.is_executed || is_early) return answer(number);
  execute(number, call);
  if (call.handler == nullptr) calls_.erase(number);
}

void SimulatedService::execute(std::uint64_t number, Call& call) {
  const PageRequest request = parse_page_request(call.wire);
  if (call.is_write) {
    const std::string value(request.value);
    origins().write(request.key, value);
    listener().on_written(value);
  }
  if (!settings().has_votes) call.sigma = next_sigma();
  call.is_executed = true;
  vote(number, call, request);
}

std::vector<std::optional<PageAnswer>> SimulatedService::votes_on(const Call& call,
                                                                  const PageRequest& request) {
  const std::string value = request.is_of_register() ? origins().current(request.key) : "";
  const bool is_unavailable = !is_calm() && !call.is_write && random().chance(kUnavailablePercent);
  std::vector<std::optional<PageAnswer>> votes(settings().origins);
  for (std::size_t origin = 0; origin < votes.size(); ++origin) {
    votes[origin] = is_unavailable && !settings().is_liar(origin)
                        ? PageAnswer{.status = 503, .text = value}
                        : origins().honest_answer(origin, request, value);
  }
  // Without an order, a correct origin may have answered before a write that the others have seen.
  const auto& states = origins().states()[request.key];
  const bool is_split = settings().has_votes && request.is_of_register() && !call.is_write &&
                        states.size() > call.first_state + 1 && random().chance(30);
  if (is_split) {
    const std::size_t state = random().between(call.first_state, states.size() - 2);
    const std::size_t origin = random().below(settings().correct());
    votes[origin] = origins().honest_answer(origin, request, states[state]);
  }
  // An application issues a session from agreed input: the same at each origin, a fresh one for
  // each call.
  if (request.page == Page::cookie) {
    const std::string cookie = origins().new_cookie();
    for (auto& vote : votes) {
      if (vote->status == 200) vote->cookie = cookie;
    }
  }
  Liars& liars = origins().liars();
  for (std::size_t origin = settings().correct(); origin < votes.size(); ++origin) {
    if (!liars.lies_in_vote(request)) continue;
    votes[origin] = liars.echoes() ? votes[random().below(settings().correct())]
                                   : liars.lie(request, origins().states());
  }
  return votes;
}

// The votes come in an order of their own; the first f+1 equal ones decide.
void SimulatedService::vote(std::uint64_t number, Call& call, const PageRequest& request) {
  const auto votes = votes_on(call, request);
  std::vector<std::size_t> order(votes.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size() - 1; i > 0; --i)
    std::swap(order[i], order[random().below(i + 1)]);
  Outcome outcome = hold_ballot(settings(), forms(), request, votes, order);
  call.answer = std::move(outcome.agreed);
  call.is_strong = outcome.is_strong;
  for (const std::size_t origin : outcome.refuted) {
    Refutation refuted;
    refuted.replica = static_cast<NodeId>(origin);
    refuted.call = number;
    // Through agents a vote is known by its digest alone.
    refuted.vote_status = settings().has_votes ? votes[origin]->status : 0;
    call.refuted.push_back(refuted);
  }
}

ReplicatedFailure SimulatedService::failure_of(const Call& call) {
  if (call.is_overload) return ReplicatedFailure::overloaded;
  if (settings().has_votes && call.is_write && random().chance(50)) {
    return ReplicatedFailure::uncertain_write;
  }
  return random().chance(50) ? ReplicatedFailure::too_few_replicas
                             : ReplicatedFailure::no_agreement;
}

void SimulatedService::fail(std::uint64_t number) {
  Call& call = calls_.at(number);
  ReplicatedHandler& handler = *call.handler;
  const ReplicatedFailure failure = failure_of(call);
  cancel(number);
  handler.on_replicated_failure(failure);
}

void SimulatedService::answer(std::uint64_t number) {
  Call& call = calls_.at(number);
  ReplicatedHandler& handler = *call.handler;
  const std::optional<Bytes> agreed = std::move(call.answer);
  const std::vector<Refutation> refuted = std::exchange(call.refuted, {});
  const bool is_numbered_early = settings().variant.world == BrokenWorld::votes_numbered_early;
  const bool is_numbered_late =
      settings().variant.world == BrokenWorld::update_ignores_sigma && !settings().has_votes;
  replica_client::ReplicatedAnswer answer;
  answer.sigma = call.sigma;
  if (is_numbered_late) answer.sigma = next_sigma();
  if (settings().has_votes && !is_numbered_early) {
    answer.sigma = votes(call.place).next();
    answer.asked = call.asked;
  }
  const bool is_strong = call.is_strong;
  const bool is_late = random().chance(50);
  if (is_strong && is_late) late_strong_.push_back(number);
  if (is_late) late_.insert(late_.end(), refuted.begin(), refuted.end());
  const bool is_write = call.is_write && !call.is_executed;
  if (is_write) {
    call.handler = nullptr;  // acknowledged before it is executed
  } else {
    cancel(number);
  }
  if (!is_late) report(refuted);
  if (is_strong && !is_late) listener().on_strong(number);
  if (!agreed) return handler.on_replicated_failure(ReplicatedFailure::no_agreement);
  answer.storage = *agreed;
  const auto form = sketch::decode(answer.storage);
  ASSERT(form.has_value());
  answer.form = *form;
  show_liars(*form);
  handler.on_replicated_answer(std::move(answer));
}

void SimulatedService::report(const std::vector<Refutation>& refuted) {
  for (const Refutation& one : refuted)
    listener().on_refuted(one);
}

void SimulatedService::report_late() {
  report(std::exchange(late_, {}));
  for (const std::uint64_t call : std::exchange(late_strong_, {}))
    listener().on_strong(call);
}

void SimulatedService::restart_group() {
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
