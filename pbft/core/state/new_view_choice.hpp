// What a new view begins with: for every number that may have been committed somewhere, the one
// batch that can have been (TOCS 2002, section 4.5.2, decision procedure of figure 4.3 in Castro's
// thesis). A function of the view-change messages alone, so that every replica that is shown them
// comes to the same result and need not believe the primary.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pbft/core/state/quorum.hpp"
#include "pbft/wire/view_change.hpp"

namespace prophecy::pbft {

struct NewViewChoice {
  std::uint64_t stable = 0;     // the newest checkpoint among the messages
  std::vector<Digest> batches;  // for stable+1 and so on; the empty batch fills gaps
};

// The digest of a batch without requests, PBFT's null request.
[[nodiscard]] const Digest& empty_batch();

// Requires valid messages of distinct replicas for the same view. Nothing when they do not yet
// determine a batch for every number: more of them will.
[[nodiscard]] std::optional<NewViewChoice> choose(const std::vector<ViewChangeMessage>& messages,
                                                  const QuorumRule& quorum);

}  // namespace prophecy::pbft
