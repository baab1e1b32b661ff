// How many equal statements of distinct replicas prove what (PBFT, section 4). A value apart from
// the settings, so that no configuration can weaken it, and a test can, to show that its checks
// would notice.
#pragma once

#include <cstdint>

#include "base/ids.hpp"

namespace prophecy::pbft {

struct QuorumRule {
  std::uint32_t replicas;   // n = 3f+1
  std::uint32_t prepared;   // 2f prepares of backups, beside the primary's pre-prepare
  std::uint32_t committed;  // 2f+1 commits: two such sets share a correct replica
  std::uint32_t stable;     // 2f+1 equal checkpoints
  std::uint32_t weak;       // f+1: at least one of them is correct
  // 2f+1 view-change messages: of every quorum that has committed anything, a correct one is there.
  std::uint32_t view_change;
  std::uint32_t certificate;  // 2f+1 signed checkpoints in each, which prove the one it begins at
  std::uint32_t vouching;     // f+1 that have pre-prepared what a new view begins with
  std::uint32_t vouching_views;  // 1: in the view in which it was prepared, or a newer one
  std::uint32_t tentative;       // 2f+1 replies that are only prepared, in one view
  // 2f+1 that are behind an ordered call before it is answered, where reads are linearizable: any
  // 2f+1 replies to a later read share a correct one with them.
  std::uint32_t behind;
  // 1: a replica that prepares a batch has the bodies that it names. With 2f+1 of them prepared,
  // f+1 correct ones can hand them on.
  std::uint32_t bodies;
  std::uint32_t holders;  // 2f+1, the primary among them, that have what it proposes a request for
  std::uint32_t own_state;  // f+1 that claim a replica's own state, itself among them: it keeps it
  std::uint32_t repair;     // 2f others that claim one state replace another of a running replica

  static constexpr QuorumRule standard(std::uint32_t faults) {
    return {3 * faults + 1, 2 * faults,     2 * faults + 1,
            2 * faults + 1, faults + 1,     2 * faults + 1,
            2 * faults + 1, faults + 1,     1,
            2 * faults + 1, 2 * faults + 1, 1,
            2 * faults + 1, faults + 1,     2 * faults};
  }
};

constexpr NodeId primary_of(std::uint64_t view, std::uint32_t replicas) {
  return static_cast<NodeId>(view % replicas);
}

}  // namespace prophecy::pbft
