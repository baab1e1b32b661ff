// Canaries that are no value of the core: what the host of a replica does behind its back, as if
// the replica lacked a check.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "pbft/auth/key_ring.hpp"
#include "pbft/core/state/actions.hpp"
#include "pbft/core/state/counters.hpp"
#include "simulation/scenario.hpp"

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

// Checks the signature of a message that comes without a seal, as if it were worth it.
void check_signature_of(ByteView frame, const pbft::KeyRing& keys);

// As if each frame were worth that.
void hash_again(ByteView frame);

// To all replicas.
void pass_on(const pbft::Frame& frame, std::uint32_t replicas, pbft::ReplicaActions& actions);

// The replica in whose name a view-change message is, sealed or not.
[[nodiscard]] std::optional<NodeId> named_in_view_change(ByteView frame, std::uint32_t replicas);

// A request of one of the correct clients.
[[nodiscard]] bool is_of_correct_client(const Scenario& scenario, ByteView frame);

// Repeats the reply to a session's last request as often as the request comes.
class RepeatedReplies {
 public:
  // After the replica has been given the frame.
  void answer_again(ByteView frame, pbft::ReplicaActions& actions);

 private:
  std::map<std::pair<NodeId, std::uint32_t>, pbft::Outgoing> last_;
};

}  // namespace prophecy::simulation
