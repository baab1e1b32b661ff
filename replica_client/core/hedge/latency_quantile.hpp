// How long the slowest reads of an origin take of late: a histogram in steps of a quarter octave,
// from 64 us to 16 s, which forgets: whenever it holds kKept samples all counts are halved, so that
// those of some thousand reads ago weigh nothing. Costs a few instructions a sample, and a walk
// over the steps for a quantile.
//
// Deterministic; not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/clock.hpp"

namespace prophecy::replica_client {

class LatencyQuantile {
 public:
  static constexpr std::uint32_t kNeeded = 50;  // samples; fewer say nothing
  static constexpr std::uint32_t kKept = 2048;

  void add(Duration latency);

  // At least so large a part of the samples (0 to 1) took no longer; a quarter too long at most,
  // within the histogram's bounds. Nothing with fewer than kNeeded samples.
  [[nodiscard]] std::optional<Duration> quantile(double part) const;

 private:
  static constexpr std::size_t kSteps = 73;  // 18 octaves, and what is below them

  std::array<std::uint32_t, kSteps> counts_{};
  std::uint32_t count_ = 0;
};

}  // namespace prophecy::replica_client
