// Tags and signatures that cost next to nothing, for simulated groups. They are keyed xxHash with
// keys that follow from a name: whoever reads this can forge them. A simulated node cannot, however
// faulty: it has nothing but its own ring, which speaks in its owner's name alone, to one receiver
// and for one purpose, as the real one does.
#pragma once

#include <cstdint>

#include "pbft/auth/key_ring.hpp"

namespace prophecy::simulation {

// For a replica below `replicas` or any client.
[[nodiscard]] pbft::KeyRing cheap_key_ring(NodeId self, std::uint32_t replicas);

}  // namespace prophecy::simulation
