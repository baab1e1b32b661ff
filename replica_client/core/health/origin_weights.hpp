// How the fast reads of a group are shared out among its origins: an origin is drawn in proportion
// to its share, which is its weight or, while it starts slowly, a part of it that rises.
//
// g of the staleness bound (docs/consistency.md) follows: the share of the f origins that have the
// largest ones.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"

namespace prophecy::replica_client {

constexpr std::uint32_t kWeightMax = 256;
// The share of an origin of weight 1, so that parts of it are whole numbers.
constexpr std::uint32_t kShareOfWeight = 256;
// An origin that starts slowly begins with this part of its weight.
constexpr std::uint32_t kSlowStartParts = 16;
static_assert(kShareOfWeight % kSlowStartParts == 0);

// By replica; never 0 for one of the group.
using OriginShares = std::array<std::uint32_t, kReplicasMax>;
static_assert(std::uint64_t{kReplicasMax} * kWeightMax * kShareOfWeight <= UINT32_MAX);

// Of a weight from 1 to kWeightMax, `passed` after a slow start of `whole` began; no `whole`: at
// once.
[[nodiscard]] constexpr std::uint32_t share_of(std::uint32_t weight, Duration passed,
                                               Duration whole) {
  const std::uint64_t full = std::uint64_t{weight} * kShareOfWeight;
  if (passed >= whole) return static_cast<std::uint32_t>(full);
  const auto part =
      static_cast<std::uint64_t>(static_cast<double>(full) * (static_cast<double>(passed.count()) /
                                                              static_cast<double>(whole.count())));
  return static_cast<std::uint32_t>(std::max(full / kSlowStartParts, part));
}

// The share of the draws that f origins get at most. Requires shares of which not all are 0.
[[nodiscard]] inline double largest_share(std::span<const std::uint32_t> shares,
                                          std::uint32_t faults) {
  std::vector<std::uint32_t> sorted(shares.begin(), shares.end());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const auto sum = [&](std::size_t count) {
    const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(count, sorted.size()));
    return std::accumulate(sorted.begin(), end, 0.0);
  };
  return sum(faults) / sum(sorted.size());
}

// Likewise, when no more than `drawn_min` origins are in the draw, whichever: f of the heaviest,
// and the lightest others, which may all be starting slowly.
[[nodiscard]] inline double largest_share_ever(std::span<const std::uint32_t> weights,
                                               std::uint32_t faults, std::uint32_t drawn_min,
                                               bool starts_slowly) {
  std::vector<std::uint32_t> shares(weights.begin(), weights.end());
  std::sort(shares.begin(), shares.end(), std::greater<>());
  const std::size_t drawn = std::clamp<std::size_t>(drawn_min, 1, shares.size());
  const std::size_t faulty = std::min<std::size_t>(faults, drawn);
  shares.erase(shares.begin() + static_cast<std::ptrdiff_t>(faulty),
               shares.end() - static_cast<std::ptrdiff_t>(drawn - faulty));
  for (std::size_t i = 0; i < shares.size(); ++i)
    shares[i] *= i >= faulty && starts_slowly ? kShareOfWeight / kSlowStartParts : kShareOfWeight;
  return largest_share(shares, faults);
}

}  // namespace prophecy::replica_client
