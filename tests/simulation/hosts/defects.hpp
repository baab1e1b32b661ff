// Canaries that are no value of the core: what the host of a replica does behind its back, as if
// the replica lacked a check.
#pragma once

#include <vector>

#include "pbft/auth/key_ring.hpp"
#include "pbft/core/state/actions.hpp"
#include "pbft/core/state/counters.hpp"

namespace prophecy::simulation {

// The votes of a replica that goes on in a view after it has asked for the next: for a proposal of
// a view that it has left. None for any other frame.
[[nodiscard]] std::vector<pbft::Frame> votes_in_left_view(ByteView frame,
                                                          const pbft::ReplicaStatus& status,
                                                          const pbft::KeyRing& keys);

// All requests of the batches from which these executions are, those that the replica has passed
// over because they were executed before included: they have the id 0.
[[nodiscard]] std::vector<pbft::Execution> with_repeated(
    const std::vector<pbft::Execution>& executions, std::uint32_t replicas);

}  // namespace prophecy::simulation
