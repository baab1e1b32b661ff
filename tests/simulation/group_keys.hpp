// The key rings of a group with its clients. Keys are the same in every run: deriving them costs
// more than a run, and no check depends on them.
#pragma once

#include <cstdint>

#include "pbft/auth/key_ring.hpp"

namespace prophecy::simulation {

// Correct ones, and behind them faulty ones.
constexpr std::uint32_t kClientsMax = 5;

enum class Keys : std::uint8_t {
  cheap,          // see cheap_keys.hpp
  cryptographic,  // those of the programs
};

// `node` is a replica below `replicas`, or one of the first kClientsMax client ids.
[[nodiscard]] const pbft::KeyRing& key_ring_of(Keys keys, NodeId node, std::uint32_t replicas);

}  // namespace prophecy::simulation
