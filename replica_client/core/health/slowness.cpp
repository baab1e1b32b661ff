#include "replica_client/core/health/slowness.hpp"

#include <algorithm>

namespace prophecy::replica_client {

void Slowness::on_reads(std::uint64_t reads, std::uint64_t slow, TimePoint now) {
  on_time(now);
  if (state_ == State::slow) return;
  // Counted in several steps by the workers: one may be seen before the other.
  reads_ += std::max(reads, slow);
  slow_ += slow;
}

void Slowness::on_time(TimePoint now) {
  if (state_ != State::quick && now >= term_end_) {
    state_ = state_ == State::slow ? State::trial : State::quick;
    term_end_ = now + term_;
    forget();
  }
  // Older reads weigh less and less.
  if (now - halved_at_ < rules_.slow_window) return;
  halved_at_ = now;
  reads_ /= 2;
  slow_ /= 2;
}

void Slowness::judge(double others, TimePoint now) {
  const bool on_trial = state_ == State::trial;
  const std::uint64_t needed = on_trial ? kTrialSlowMax : rules_.slow_max;
  if (!rules_.slow || state_ == State::slow || slow_ < needed) return;
  const double share = static_cast<double>(slow_) / static_cast<double>(reads_);
  if (share < kShareMin || share < kTimesOthers * others) return;
  term_ = on_trial ? std::min(2 * term_, rules_.sit_out_max) : rules_.sit_out;
  term_end_ = now + term_;
  state_ = State::slow;
  forget();
}

std::optional<double> Slowness::share() const {
  if (reads_ < kReadsMin) return std::nullopt;
  return static_cast<double>(slow_) / static_cast<double>(reads_);
}

}  // namespace prophecy::replica_client
