#include "pbft/core/recovery/state_verdict.hpp"

#include <algorithm>

namespace prophecy::pbft {
namespace {

using Root = Digest CheckpointClaim::*;

// Of others. Zero is no statement.
std::uint32_t claiming(const Checkpoints::Watched& claims, Root root, const Digest& digest) {
  if (digest == Digest{}) return 0;
  return static_cast<std::uint32_t>(
      std::count_if(claims.others.begin(), claims.others.end(),
                    [&](const auto& other) { return other && (*other).*root == digest; }));
}

std::uint32_t claiming_own(const Checkpoints::Watched& claims, Root root) {
  return claims.own.*root == Digest{} ? 0 : 1 + claiming(claims, root, claims.own.*root);
}

// The most that agree on one that is not this replica's.
std::uint32_t claiming_another(const Checkpoints::Watched& claims, Root root) {
  std::uint32_t most = 0;
  for (const auto& other : claims.others) {
    if (!other || (*other).*root == claims.own.*root) continue;
    most = std::max(most, claiming(claims, root, (*other).*root));
  }
  return most;
}

}  // namespace

StateVerdict state_verdict(const Checkpoints::Watched& claims, bool is_over,
                           const QuorumRule& quorum) {
  const std::uint32_t own = claiming_own(claims, &CheckpointClaim::service);
  if (own >= quorum.own_state) return StateVerdict::right;
  const auto here = std::count_if(claims.others.begin(), claims.others.end(),
                                  [](const auto& other) { return other.has_value(); });
  if (!is_over && here < static_cast<std::ptrdiff_t>(quorum.replicas - 1)) {
    return StateVerdict::open;
  }
  const std::uint32_t another = claiming_another(claims, &CheckpointClaim::service);
  if (claims.own.service == Digest{} && another >= quorum.weak) return StateVerdict::unstated;
  if (another >= quorum.repair) return StateVerdict::wrong;
  return std::max(own, another) >= quorum.weak ? StateVerdict::outvoted : StateVerdict::unknown;
}

bool is_state_agreed(const Checkpoints::Watched& claims, const QuorumRule& quorum) {
  return claiming_own(claims, &CheckpointClaim::service) >= quorum.stable;
}

bool has_other_state(const Checkpoints::Watched& claims, const QuorumRule& quorum) {
  return claiming_another(claims, &CheckpointClaim::service) >= quorum.weak;
}

bool has_other_replies(const Checkpoints::Watched& claims, const QuorumRule& quorum) {
  return claims.own.replies != Digest{} &&
         claiming_own(claims, &CheckpointClaim::replies) < quorum.weak &&
         claiming_another(claims, &CheckpointClaim::replies) >= quorum.weak;
}

}  // namespace prophecy::pbft
