// Who is asked next, out of those that may be drawn. The randomness is the caller's.
#pragma once

#include <bit>
#include <cstdint>

#include "base/assert.hpp"
#include "replica_client/core/health/group_health.hpp"
#include "replica_client/core/health/origin_weights.hpp"

namespace prophecy::replica_client {

// Those to draw from for another try: the eligible ones first, and never one of `tried`. Empty when
// all of the group are tried.
constexpr ReplicaSet candidates(ReplicaSet all, ReplicaSet drawable, ReplicaSet tried) {
  const ReplicaSet eligible = all & drawable & ~tried;
  return eligible != 0 ? eligible : all & ~tried;
}

// Requires a set that is not empty. `below(n)` is uniform in [0, n); then each of the set is drawn
// with the probability share / sum of the set's shares. Requires that none of these is 0.
template <typename Below>
NodeId draw(ReplicaSet from, const OriginShares& shares, Below below) {
  ASSERT(from != 0);
  std::uint32_t sum = 0;
  for (ReplicaSet rest = from; rest != 0; rest &= rest - 1)
    sum += shares[static_cast<std::size_t>(std::countr_zero(rest))];
  ASSERT(sum > 0);
  std::uint32_t rolled = below(sum);
  for (;; from &= from - 1) {
    const auto replica = static_cast<NodeId>(std::countr_zero(from));
    if (rolled < shares[replica]) return replica;
    rolled -= shares[replica];
  }
}

// Likewise; all shares are equal: the draw is uniform.
template <typename Below>
NodeId draw(ReplicaSet from, Below below) {
  ASSERT(from != 0);
  for (std::uint32_t skip = below(static_cast<std::uint32_t>(std::popcount(from))); skip > 0;
       --skip)
    from &= from - 1;
  return static_cast<NodeId>(std::countr_zero(from));
}

}  // namespace prophecy::replica_client
