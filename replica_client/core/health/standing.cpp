#include "replica_client/core/health/standing.hpp"

#include <algorithm>

namespace prophecy::replica_client {

void Standing::on_disputes(std::uint64_t lost, TimePoint now) {
  const bool sat_out = state_ == State::quarantined;
  on_time(now);
  if (!rules_.quarantine || lost == 0 || sat_out) return;
  if (state_ == State::probation) {
    return quarantine(std::min(2 * term_, rules_.sit_out_max), now);
  }
  if (now >= window_end_) {
    lost_ = 0;
    window_end_ = now + rules_.disputes_window;
  }
  lost_ += std::min<std::uint64_t>(lost, rules_.disputes_max);
  if (lost_ >= rules_.disputes_max) quarantine(rules_.sit_out, now);
}

void Standing::on_vindicated(std::uint64_t answers, TimePoint now) {
  on_time(now);
  lost_ -= std::min(lost_, answers);
  if (state_ != State::quarantined) return;
  state_ = State::probation;
  term_end_ = now + term_;
}

void Standing::on_time(TimePoint now) {
  if (state_ == State::quarantined && now >= term_end_) {
    state_ = State::probation;
    term_end_ = now + term_;
  } else if (state_ == State::probation && now >= term_end_) {
    state_ = State::trusted;
    lost_ = 0;
    window_end_ = now;
  }
}

void Standing::quarantine(Duration term, TimePoint now) {
  state_ = State::quarantined;
  term_ = term;
  term_end_ = now + term;
}

}  // namespace prophecy::replica_client
