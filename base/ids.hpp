// Names of the members of a replica group.
#pragma once

#include <cstdint>

namespace prophecy {

// A replica is its position in the group, 0 to n-1; a client (a sketcher) has an id from
// kFirstClientId on. One number space, so that a sender is one number on the wire.
using NodeId = std::uint32_t;

constexpr NodeId kReplicasMax = 64;
constexpr NodeId kFirstClientId = 1024;
constexpr NodeId kLastClientId = 65535;

constexpr bool is_replica(NodeId node, std::uint32_t group_size) {
  return node < group_size;
}
constexpr bool is_client(NodeId node) {
  return node >= kFirstClientId && node <= kLastClientId;
}

}  // namespace prophecy
