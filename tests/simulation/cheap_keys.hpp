// Tags and signatures that cost next to nothing, for simulated groups. They are keyed xxHash with
// keys that follow from a name: whoever reads this can forge them. A simulated node cannot, however
// faulty: it has nothing but its own ring, which speaks in its owner's name alone, to one receiver
// and for one purpose, as the real one does.
#pragma once

#include <cstdint>

#include "pbft/auth/key_ring.hpp"

namespace prophecy::simulation {

// What all cheap rings of this process have done; a run has a process of its own.
struct KeyWork {
  std::uint64_t signatures_checked = 0;
  std::uint64_t signatures_made = 0;
  std::uint64_t tags = 0;  // made and checked
};
[[nodiscard]] KeyWork& key_work();

// Of which life of the group keys are: in each of them they are others.
enum class Life : std::uint8_t { earlier, present };

// For a replica below `replicas` or any client.
[[nodiscard]] pbft::KeyRing cheap_key_ring(NodeId self, std::uint32_t replicas,
                                           Life life = Life::present);
// Of a later group file, which lists new keys of the replicas with these bits.
[[nodiscard]] pbft::KeyRing replaced_key_ring(NodeId self, std::uint32_t replicas,
                                              std::uint64_t replaced);
// A defect: it takes the replaced keys for valid, too.
[[nodiscard]] pbft::KeyRing forgiving_key_ring(NodeId self, std::uint32_t replicas,
                                               std::uint64_t replaced);
// A defect: signatures are the same in each life.
[[nodiscard]] pbft::KeyRing timeless_key_ring(NodeId self, std::uint32_t replicas, Life life);

// A defect: it takes every signature for that of the member whose name is on it.
[[nodiscard]] pbft::KeyRing gullible_key_ring(NodeId self, std::uint32_t replicas);
// Another: it takes every MAC of a client for right.
[[nodiscard]] pbft::KeyRing trusting_key_ring(NodeId self, std::uint32_t replicas);

}  // namespace prophecy::simulation
