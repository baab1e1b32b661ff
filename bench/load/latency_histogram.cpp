#include "bench/load/latency_histogram.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

namespace prophecy::tools {
namespace {

using std::chrono::nanoseconds;

// Durations below this have a step each; above, each power of two has half as many.
constexpr unsigned kStepBits = 7;
constexpr std::uint64_t kFine = std::uint64_t{1} << kStepBits;
constexpr std::size_t kSteps = (64 - kStepBits + 2) * (kFine / 2);

std::size_t step_of(std::uint64_t value) {
  if (value < kFine) return value;
  const auto shift = static_cast<unsigned>(std::bit_width(value)) - kStepBits;
  return shift * (kFine / 2) + static_cast<std::size_t>(value >> shift);
}

// The largest value of a step.
std::uint64_t end_of(std::size_t step) {
  if (step < kFine) return step;
  const std::size_t shift = step / (kFine / 2) - 1;
  const std::uint64_t leading = step - shift * (kFine / 2);
  return ((leading + 1) << shift) - 1;
}

}  // namespace

LatencyHistogram::LatencyHistogram() : counts_(kSteps) {}

void LatencyHistogram::add(Duration duration) {
  const Duration taken = std::max(duration, Duration{});
  const auto value = std::chrono::duration_cast<nanoseconds>(taken).count();
  ++counts_[step_of(static_cast<std::uint64_t>(value))];
  ++count_;
  sum_ns_ += static_cast<long double>(value);
  max_ = std::max(max_, taken);
}

Duration LatencyHistogram::quantile(double part) const {
  const auto wanted = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(count_))));
  std::uint64_t seen = 0;
  for (std::size_t step = 0; step < counts_.size(); ++step) {
    seen += counts_[step];
    if (seen < wanted) continue;
    return std::min<Duration>(max_, nanoseconds(static_cast<std::int64_t>(end_of(step))));
  }
  return max_;
}

Duration LatencyHistogram::mean() const {
  if (count_ == 0) return {};
  return nanoseconds(static_cast<std::int64_t>(sum_ns_ / static_cast<long double>(count_)));
}

}  // namespace prophecy::tools
