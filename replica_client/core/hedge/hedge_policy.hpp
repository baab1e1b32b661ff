// When a fast read is asked of a second replica, and of how few reads.
//
// The delay: each origin has the time in which 98 of 100 of its reads have been answered of late,
// and the group's delay is the (f+1)-th smallest of these. So it is no shorter than the quickest
// correct origin takes, and no longer than the f+1 quickest correct ones: f that are slow, or lie
// about it, cannot move the delay to hide themselves.
//
// The share: hedges are paid for by reads. Each earns kShare of one, and no more than kSavedMax are
// saved up, so that when all origins are slow, they do not get twice the load. The share is more
// than what the delay leaves over where origins are alike, so that something is saved for when one
// hangs.
//
// Deterministic; not thread-safe.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "base/assert.hpp"
#include "base/ids.hpp"
#include "replica_client/core/hedge/latency_quantile.hpp"

namespace prophecy::replica_client {

class HedgePolicy {
 public:
  static constexpr double kShare = 0.05;
  static constexpr double kSavedMax = 10;
  static constexpr double kPart = 0.98;
  static_assert(1 - kPart < kShare);
  static constexpr Duration kDelayMin = milliseconds(1);
  // A read that takes longer than both is slow: so many delays, and a time that somebody notices.
  static constexpr int kSlowDelays = 4;
  static constexpr Duration kSlowMin = milliseconds(200);

  // Requires faults < origins.
  HedgePolicy(std::uint32_t origins, std::uint32_t faults) : faults_(faults), latencies_(origins) {
    ASSERT(faults < origins);
  }

  // A read begins: after what time a second replica is to be asked. Nothing while too little is
  // known of f+1 origins, or nothing is saved up.
  [[nodiscard]] std::optional<Duration> on_read() {
    saved_ = std::min(saved_ + kShare, kSavedMax);
    if (saved_ < 1) return std::nullopt;
    // The quantiles move slowly: they are looked up anew now and then only.
    if (until_lookup_-- == 0) {
      until_lookup_ = kLookupInterval;
      delay_ = look_up();
    }
    if (!delay_) return std::nullopt;
    return std::max(*delay_, kDelayMin);
  }
  // The time is over. False: it is not to be asked after all.
  [[nodiscard]] bool take() {
    if (saved_ < 1) return false;
    saved_ -= 1;
    return true;
  }
  // A read that has taken so long is much slower than the group's delay. Never while that is not
  // known.
  [[nodiscard]] bool is_slow(Duration latency) const {
    return delay_ && latency > kSlowMin && latency > kSlowDelays * *delay_;
  }
  // An origin has answered after this time; or has not in this time, and its answer was not waited
  // for. (Without the latter the slowest would never be counted, and the delay shrink from hedge to
  // hedge.)
  void on_latency(NodeId origin, Duration latency) { latencies_[origin].add(latency); }

 private:
  static constexpr std::uint32_t kLookupInterval = 32;

  [[nodiscard]] std::optional<Duration> look_up() {
    known_.clear();
    for (const LatencyQuantile& latency : latencies_) {
      if (const auto quantile = latency.quantile(kPart)) known_.push_back(*quantile);
    }
    if (known_.size() <= faults_) return std::nullopt;
    const auto wanted = known_.begin() + faults_;
    std::nth_element(known_.begin(), wanted, known_.end());
    return *wanted;
  }

  std::uint32_t faults_;
  std::vector<LatencyQuantile> latencies_;  // by origin
  std::vector<Duration> known_;             // scratch
  std::optional<Duration> delay_;
  std::uint32_t until_lookup_ = 0;
  double saved_ = 0;
};

}  // namespace prophecy::replica_client
