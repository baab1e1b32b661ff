// How long things took, in memory that does not grow: counts by duration, in steps of at most one
// part in 64. Quantiles are exact to that.
//
// Not thread-safe; no I/O.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.hpp"

namespace prophecy::tools {

class LatencyHistogram {
 public:
  LatencyHistogram();

  // Negative ones count as zero.
  void add(Duration duration);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  // The largest duration that so large a part of all (0 to 1) do not exceed; zero without any.
  [[nodiscard]] Duration quantile(double part) const;
  [[nodiscard]] Duration mean() const;
  [[nodiscard]] Duration max() const { return max_; }

 private:
  std::vector<std::uint64_t> counts_;  // by step
  std::uint64_t count_ = 0;
  long double sum_ns_ = 0;  // which no number of calls makes overflow
  Duration max_{};
};

}  // namespace prophecy::tools
