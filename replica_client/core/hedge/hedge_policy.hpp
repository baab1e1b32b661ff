// When a fast read is asked of a second replica: after the time in which 98 of 100 have been
// answered of late, and of few reads only. Hedges are paid for by reads: each earns kShare of one,
// and no more than kSavedMax are saved up, so that when all origins are slow, they do not get twice
// the load. The share is more than what the delay leaves over, so that something is saved for when
// one origin hangs.
//
// Deterministic; not thread-safe.
#pragma once

#include <algorithm>
#include <optional>

#include "replica_client/core/hedge/latency_quantile.hpp"

namespace prophecy::replica_client {

class HedgePolicy {
 public:
  static constexpr double kShare = 0.05;
  static constexpr double kSavedMax = 10;
  static constexpr double kPart = 0.98;
  static_assert(1 - kPart < kShare);
  static constexpr Duration kDelayMin = milliseconds(1);

  // A read begins: after what time a second replica is to be asked. Nothing while too little is
  // known, or nothing is saved up.
  [[nodiscard]] std::optional<Duration> on_read() {
    saved_ = std::min(saved_ + kShare, kSavedMax);
    if (saved_ < 1) return std::nullopt;
    // The quantile moves slowly: it is looked up anew now and then only.
    if (until_lookup_-- == 0) {
      until_lookup_ = kLookupInterval;
      delay_ = latency_.quantile(kPart);
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
  // An origin has answered after this time; or has not in this time, and its answer was not waited
  // for. (Without the latter the slowest would never be counted, and the delay shrink from hedge to
  // hedge.)
  void on_latency(Duration latency) { latency_.add(latency); }

 private:
  static constexpr std::uint32_t kLookupInterval = 32;

  LatencyQuantile latency_;
  std::optional<Duration> delay_;
  std::uint32_t until_lookup_ = 0;
  double saved_ = 0;
};

}  // namespace prophecy::replica_client
