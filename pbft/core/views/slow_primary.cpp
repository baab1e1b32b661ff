#include "pbft/core/views/slow_primary.hpp"

#include <algorithm>

#include "pbft/core/state/absence.hpp"

namespace prophecy::pbft {
namespace {

constexpr int kGivenBack = 4;  // the fourth part of the time in which nothing waits too long

}  // namespace

// With what waited when it was noted.
Duration SlowPrimary::level_at(TimePoint time) const {
  const TimePoint late_from =
      waiting_since_ ? std::clamp(*waiting_since_ + kGrace, noted_at_, time) : time;
  const Duration left = level_ - std::min(level_, (late_from - noted_at_) / kGivenBack);
  return left + (time - late_from);
}

void SlowPrimary::note(std::optional<TimePoint> waiting_since, TimePoint now) {
  level_ = level_at(std::max(now, noted_at_));
  noted_at_ = std::max(now, noted_at_);
  waiting_since_ = waiting_since;
  if (paused_until_ && now >= *paused_until_) paused_until_.reset();
  if (paused_until_) level_ = {};
  if (!blamed_at_ || paused_until_) return;
  if (now - *blamed_at_ >= kProven) tries_ = 0;
  if (now - *blamed_at_ >= 2 * pause_) pause_ = kPause;
}

TimePoint SlowPrimary::due() const {
  if (!waiting_since_ || paused_until_) return TimePoint::max();
  const TimePoint late_from = std::max(*waiting_since_ + kGrace, noted_at_);
  return late_from + std::max(allowance_ - level_at(late_from), Duration{});
}

void SlowPrimary::on_blamed(TimePoint now) {
  blamed_at_ = now;
  restart(now);
  if (++tries_ < tries_max_) return;
  tries_ = 0;
  paused_until_ = now + pause_;
  pause_ = std::min(2 * pause_, kPauseMax);
}

void SlowPrimary::leave_out(Duration absent, TimePoint now) {
  noted_at_ = later(noted_at_, absent, now);
}

void SlowPrimary::restart(TimePoint now) {
  noted_at_ = now;
  level_ = {};
  waiting_since_.reset();
}

}  // namespace prophecy::pbft
