#include "consistency/service.hpp"

#include <sstream>

#include "base/assert.hpp"

namespace prophecy::consistency {
namespace {

constexpr std::uint64_t kFailingPercent = 3;
constexpr std::uint64_t kUnsketchablePercent = 4;  // of the answers to reads
constexpr std::uint64_t kSlowPercent = 10;         // of calls, where it is busy
constexpr std::uint64_t kSlowStepPercent = 5;      // of their turns; else they wait

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; in >> word;)
    words.push_back(word);
  return words;
}

}  // namespace

Service::Service(const ServiceSettings& settings, simulation::Random& random)
    : settings_(settings), random_(random) {
  for (Key key = 0; key < settings.keys; ++key)
    states_.push_back({"i" + std::to_string(key)});
  for (auto& applied : applied_)
    applied.assign(settings.keys, 0);
}

std::uint64_t Service::submit(std::string_view request,
                              replica_client::ReplicatedHandler& handler) {
  Call call;
  call.request = words_of(request);
  call.handler = &handler;
  call.asked = sigma_;
  call.is_slow = settings_.is_busy && random_.chance(kSlowPercent);
  if (settings_.variant == Variant::votes_numbered_early) call.sigma = next_sigma();
  calls_.emplace(++last_call_, std::move(call));
  return last_call_;
}

void Service::cancel(std::uint64_t call) {
  const auto found = calls_.find(call);
  if (found == calls_.end()) return;
  found->second.handler = nullptr;
  if (!found->second.is_write() || found->second.is_executed) calls_.erase(found);
}

void Service::advance() {
  if (calls_.empty()) return;
  const auto chosen =
      std::next(calls_.begin(), static_cast<std::ptrdiff_t>(random_.below(calls_.size())));
  Call& call = chosen->second;
  if (call.is_slow && !random_.chance(kSlowStepPercent)) return;
  if (call.handler != nullptr && random_.chance(kFailingPercent)) return fail(chosen->first);
  const bool is_early = settings_.variant == Variant::write_answered_early && call.is_write() &&
                        call.handler != nullptr && !call.is_executed;
  if (call.is_executed || is_early) return answer(chosen->first);
  execute(call);
  if (call.handler == nullptr) calls_.erase(chosen);
}

void Service::execute(Call& call) {
  const Key key = call.key();
  if (call.is_write()) write(key, call.request[2]);
  call.answer = current(key);
  if (!settings_.votes) call.sigma = next_sigma();
  call.is_executed = true;
}

void Service::fail(std::uint64_t number) {
  replica_client::ReplicatedHandler& handler = *calls_.at(number).handler;
  cancel(number);
  handler.on_replicated_failure(replica_client::ReplicatedFailure::too_few_replicas);
}

void Service::answer(std::uint64_t number) {
  Call& call = calls_.at(number);
  replica_client::ReplicatedHandler& handler = *call.handler;
  replica_client::ReplicatedAnswer answer;
  const bool numbered_late = settings_.votes || settings_.variant == Variant::update_ignores_sigma;
  const bool numbered_early = settings_.variant == Variant::votes_numbered_early;
  answer.sigma = numbered_late && !numbered_early ? next_sigma() : call.sigma;
  if (settings_.votes && !numbered_early) answer.asked = call.asked;
  answer.form.status = !call.is_write() && random_.chance(kUnsketchablePercent) ? 503 : 200;
  last_answer_ = call.answer;
  last_key_ = call.key();
  answer.form.body = last_answer_;
  cancel(number);
  handler.on_replicated_answer(std::move(answer));
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

void Service::write(Key key, const std::string& value) {
  states_[key].push_back(value);
}

std::string Service::answer_of(std::size_t origin, Key key) {
  if (origin + 1 < kOrigins) return states_[key][applied_[origin][key]];
  if (random_.chance(5)) return "nonsense";
  const Key of = random_.chance(5) ? random_.below(states_.size()) : key;
  return states_[of][random_.below(states_[of].size())];
}

void Service::advance_origin() {
  const Key key = random_.below(states_.size());
  std::size_t& applied = applied_[random_.below(kOrigins - 1)][key];
  applied += random_.below(states_[key].size() - applied);
}

}  // namespace prophecy::consistency
