// The key rings of a group with its clients. Keys are the same in every run: deriving them costs
// more than a run, and no check depends on them.
#pragma once

#include <cstdint>

#include "pbft/auth/key_ring.hpp"

namespace prophecy::simulation {

constexpr std::uint32_t kClientsMax = 3;

// `node` is a replica below `replicas`, or one of the first kClientsMax client ids.
[[nodiscard]] const pbft::KeyRing& key_ring_of(NodeId node, std::uint32_t replicas);

}  // namespace prophecy::simulation
