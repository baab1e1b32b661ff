// state_verdict() says what all replicas' claims about one checkpoint mean for this replica's own
// state of the service there. A pure function of the claims.
//
// f+1 claims alone replace no state of a running replica: where origins differ honestly, one faulty
// replica could side with any of them, and bring the rest out of service. So a state that f+1 claim
// is kept, whatever else f+1 claim; late claims are waited for; and 2f others have to agree on
// another state before it takes this one's place.
#pragma once

#include <cstdint>

#include "pbft/core/state/checkpoints.hpp"
#include "pbft/core/state/quorum.hpp"

namespace prophecy::pbft {

enum class StateVerdict : std::uint8_t {
  open,      // more claims may come, and decide
  right,     // f+1 claim it, this replica among them
  wrong,     // 2f others claim another one
  outvoted,  // f+1 others claim another one, and fewer than 2f
  unknown,   // no f+1 agree on one: nobody could fetch a state of this checkpoint
  unstated,  // f+1 others agree on one, and this replica has claimed none
};

// `is_over`: the rest is not waited for any longer.
[[nodiscard]] StateVerdict state_verdict(const Checkpoints::Watched& claims, bool is_over,
                                         const QuorumRule& quorum);
// f+1 others claim other replies, and this replica's are claimed by fewer.
// 2f+1 replicas are in this one's state.
[[nodiscard]] bool is_state_agreed(const Checkpoints::Watched& claims, const QuorumRule& quorum);
// f+1 others are in one state that is not this replica's: one of them is correct.
[[nodiscard]] bool has_other_state(const Checkpoints::Watched& claims, const QuorumRule& quorum);
[[nodiscard]] bool has_other_replies(const Checkpoints::Watched& claims, const QuorumRule& quorum);

}  // namespace prophecy::pbft
