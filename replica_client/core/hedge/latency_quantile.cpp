#include "replica_client/core/hedge/latency_quantile.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace prophecy::replica_client {
namespace {

// Step 0 ends here; each octave above has four steps.
constexpr std::uint64_t kFirstMicros = 64;
constexpr unsigned kFirstBit = std::bit_width(kFirstMicros);

std::size_t step_of(std::uint64_t micros) {
  if (micros <= kFirstMicros) return 0;
  const std::uint64_t value = micros - 1;  // steps include their ends
  const auto octave = static_cast<unsigned>(std::bit_width(value)) - kFirstBit;
  const std::uint64_t quarter = (value >> (octave + kFirstBit - 3)) & 3;
  return 1 + 4 * octave + static_cast<std::size_t>(quarter);
}

std::uint64_t end_of(std::size_t step) {
  if (step == 0) return kFirstMicros;
  const std::size_t octave = (step - 1) / 4;
  const std::size_t quarter = (step - 1) % 4;
  return (kFirstMicros << octave) / 4 * (5 + quarter);
}

}  // namespace

void LatencyQuantile::add(Duration latency) {
  const auto micros =
      std::max<std::int64_t>(0, std::chrono::duration_cast<microseconds>(latency).count());
  ++counts_[std::min(step_of(static_cast<std::uint64_t>(micros)), kSteps - 1)];
  if (++count_ < kKept) return;
  count_ = 0;
  for (std::uint32_t& count : counts_)
    count_ += count /= 2;
}

std::optional<Duration> LatencyQuantile::quantile(double part) const {
  if (count_ < kNeeded) return std::nullopt;
  const auto wanted =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(part * count_)));
  std::uint64_t seen = 0;
  std::size_t step = 0;
  for (; step + 1 < kSteps; ++step) {
    seen += counts_[step];
    if (seen >= wanted) break;
  }
  return microseconds(end_of(step));
}

}  // namespace prophecy::replica_client
