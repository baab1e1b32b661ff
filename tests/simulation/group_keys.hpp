// The key rings of a group with its clients. Keys are the same in every run: deriving them costs
// more than a run, and no check depends on them.
#pragma once

#include <cstdint>
#include <map>

#include "pbft/auth/key_ring.hpp"
#include "simulation/cheap_keys.hpp"

namespace prophecy::simulation {

// Correct ones, and behind them faulty ones.
constexpr std::uint32_t kClientsMax = 5;

enum class Keys : std::uint8_t {
  cheap,          // see cheap_keys.hpp
  gullible,       // cheap ones, but whoever has signed, a signature is taken for valid
  trusting,       // cheap ones, but a client's MAC is never wrong
  timeless,       // cheap ones, but signatures are the same in each life of the group
  cryptographic,  // those of the programs
};

// `node` is a replica below `replicas`, or one of the first kClientsMax client ids.
[[nodiscard]] const pbft::KeyRing& key_ring_of(Keys keys, NodeId node, std::uint32_t replicas,
                                               Life life = Life::present);

// By a later group file, which lists new keys of the replicas with these bits; `is_forgiving` is a
// defect.
[[nodiscard]] const pbft::KeyRing& later_key_ring_of(NodeId node, std::uint32_t replicas,
                                                     std::uint64_t replaced, bool is_forgiving);

// Those of the programs, before any session key is exchanged: of one run alone.
[[nodiscard]] std::map<NodeId, pbft::KeyRing> changing_key_rings(std::uint32_t replicas,
                                                                 Life life = Life::present);

}  // namespace prophecy::simulation
