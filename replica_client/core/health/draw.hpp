// Who is asked next, out of those that may be drawn. The randomness is the caller's.
#pragma once

#include <bit>
#include <cstdint>

#include "base/assert.hpp"
#include "replica_client/core/health/group_health.hpp"

namespace prophecy::replica_client {

// Those to draw from for another try: the eligible ones first, and never one of `tried`. Empty when
// all of the group are tried.
constexpr ReplicaSet candidates(ReplicaSet all, ReplicaSet drawable, ReplicaSet tried) {
  const ReplicaSet eligible = all & drawable & ~tried;
  return eligible != 0 ? eligible : all & ~tried;
}

// Requires a set that is not empty. `below(n)` is uniform in [0, n); then so is the draw.
template <typename Below>
NodeId draw(ReplicaSet from, Below below) {
  ASSERT(from != 0);
  for (std::uint32_t skip = below(static_cast<std::uint32_t>(std::popcount(from))); skip > 0;
       --skip)
    from &= from - 1;
  return static_cast<NodeId>(std::countr_zero(from));
}

}  // namespace prophecy::replica_client
