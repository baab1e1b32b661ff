#include "pbft/core/checkpoints.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::pbft {
namespace {

const CheckpointClaim* claim_at(const std::vector<CheckpointClaim>& claims,
                                std::uint64_t sequence) {
  const auto found = std::find_if(claims.begin(), claims.end(),
                                  [&](const CheckpointClaim& c) { return c.sequence == sequence; });
  return found == claims.end() ? nullptr : &*found;
}

}  // namespace

Checkpoints::Checkpoints(const QuorumRule& quorum) : quorum_(quorum), claims_(quorum.replicas) {}

Checkpoints::Outcome Checkpoints::record(NodeId replica, const CheckpointClaim& claim) {
  if (claim.sequence <= stable_.sequence) return Outcome::old;
  auto& claims = claims_[replica];
  if (const CheckpointClaim* known = claim_at(claims, claim.sequence)) {
    const bool same = known->order == claim.order && known->results == claim.results;
    return same ? Outcome::duplicate : Outcome::conflicting;
  }
  const auto place = std::find_if(claims.begin(), claims.end(), [&](const CheckpointClaim& c) {
    return c.sequence > claim.sequence;
  });
  if (claims.size() == kClaimsKept && place == claims.begin()) return Outcome::old;
  claims.insert(place, claim);
  if (claims.size() > kClaimsKept) claims.erase(claims.begin());

  std::uint32_t equal = 0;
  for (const auto& of_replica : claims_) {
    const CheckpointClaim* other = claim_at(of_replica, claim.sequence);
    if (other != nullptr && other->order == claim.order) ++equal;
  }
  if (equal < quorum_.stable) return Outcome::added;
  stable_ = claim;
  for (auto& of_replica : claims_) {
    std::erase_if(of_replica,
                  [&](const CheckpointClaim& c) { return c.sequence < stable_.sequence; });
  }
  return Outcome::stable;
}

void Checkpoints::keep_own(const CheckpointClaim& claim, Frame frame) {
  ASSERT(claim.sequence > last_own());
  own_.push_back({claim, std::move(frame)});
  if (own_.size() > kClaimsKept) own_.pop_front();
}

const CheckpointClaim* Checkpoints::own_at(std::uint64_t sequence) const {
  for (const Own& own : own_) {
    if (own.claim.sequence == sequence) return &own.claim;
  }
  return nullptr;
}

bool Checkpoints::diverged() const {
  const CheckpointClaim* own = own_at(stable_.sequence);
  return own != nullptr && own->order != stable_.order;
}

bool Checkpoints::results_diverged() const {
  const CheckpointClaim* own = own_at(stable_.sequence);
  if (own == nullptr || own->results == Digest{}) return false;
  for (const auto& of_replica : claims_) {
    const CheckpointClaim* candidate = claim_at(of_replica, stable_.sequence);
    if (candidate == nullptr || candidate->results == Digest{}) continue;
    std::uint32_t equal = 0;
    for (const auto& of_other : claims_) {
      const CheckpointClaim* other = claim_at(of_other, stable_.sequence);
      if (other != nullptr && other->results == candidate->results) ++equal;
    }
    if (equal >= quorum_.weak && candidate->results != own->results) return true;
  }
  return false;
}

void Checkpoints::frames_above(std::uint64_t sequence, std::vector<Frame>& out) const {
  for (const Own& own : own_) {
    if (own.claim.sequence > sequence) out.push_back(own.frame);
  }
}

}  // namespace prophecy::pbft
