#include "replica_client/core/health/availability.hpp"

#include <algorithm>

namespace prophecy::replica_client {
namespace {

// Older failures are forgotten: on a quiet site they would add up over days.
constexpr Duration kFailureMemory = seconds(60);
// The share of failures is of so long about.
constexpr Duration kShareWindow = seconds(10);
constexpr std::uint64_t kShareRequestsMin = 5;
// Chance makes an origin's share differ from the others'.
constexpr double kTimesCommon = 2;

}  // namespace

void Availability::on_check(bool passed, TimePoint now) {
  passed_ = passed ? std::min(passed_ + 1, rules_.rise) : 0;
  failed_ = passed ? 0 : std::min(failed_ + 1, rules_.fall);
  if (state_ == State::up && failed_ >= rules_.fall) go_down();
  if (state_ == State::down) on_time(now);
}

// Older ones weigh less and less.
void Availability::forget_old_requests(TimePoint now) {
  if (now - halved_at_ < kShareWindow) return;
  halved_at_ = now;
  requests_of_late_ /= 2;
  failures_of_late_ /= 2;
}

std::optional<double> Availability::failure_share() const {
  if (state_ == State::down || requests_of_late_ < kShareRequestsMin) return std::nullopt;
  return static_cast<double>(failures_of_late_) / static_cast<double>(requests_of_late_);
}

void Availability::on_requests(std::uint64_t good, std::uint64_t bad, TimePoint now,
                               std::uint64_t unreached, double common) {
  if (state_ == State::down) return;
  unreached = std::min(unreached, bad);
  const std::uint64_t failed = bad - unreached;
  forget_old_requests(now);
  requests_of_late_ += good + failed;
  failures_of_late_ += failed;
  if (now - last_failure_ > kFailureMemory) failures_ = 0;
  if (bad > 0) last_failure_ = now;
  const double expected = kTimesCommon * common * static_cast<double>(good + failed);
  const double own =
      static_cast<double>(unreached) + std::max(0.0, static_cast<double>(failed) - expected);
  failures_ =
      std::clamp<double>(failures_ + own - static_cast<double>(good), 0, rules_.failures_max);
  if (failures_ < rules_.failures_max) return;
  // A pause that has helped for as long as it lasted is forgotten.
  const bool on_trial = pause_ != Duration{} && now < trial_end_;
  pause_ = on_trial ? std::min(2 * pause_, rules_.pause_max) : rules_.pause;
  go_down();
  paused_ = true;
  pause_end_ = now + pause_;
}

void Availability::on_time(TimePoint now) {
  if (state_ == State::up) return;
  if (paused_ && now < pause_end_) return;
  if (rules_.checked && passed_ < rules_.rise) return;
  go_up(now);
}

void Availability::go_down() {
  state_ = State::down;
  passed_ = failed_ = 0;
  paused_ = false;
}

void Availability::go_up(TimePoint now) {
  state_ = State::up;
  failures_ = 0;
  requests_of_late_ = failures_of_late_ = 0;
  if (!paused_) return;
  failures_ = rules_.failures_max - 1;
  last_failure_ = now;
  trial_end_ = now + std::max(pause_, kFailureMemory);
}

}  // namespace prophecy::replica_client
