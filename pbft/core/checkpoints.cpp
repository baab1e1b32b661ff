#include "pbft/core/checkpoints.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::pbft {

Checkpoints::Checkpoints(const QuorumRule& quorum) : quorum_(quorum), claims_(quorum.replicas) {}

const Checkpoints::SignedClaim* Checkpoints::find(const std::vector<SignedClaim>& claims,
                                                  std::uint64_t sequence) {
  const auto found = std::find_if(claims.begin(), claims.end(), [&](const SignedClaim& c) {
    return c.claim.sequence == sequence;
  });
  return found == claims.end() ? nullptr : &*found;
}

std::vector<Frame> Checkpoints::equal_to(const CheckpointClaim& claim) const {
  std::vector<Frame> frames;
  for (const auto& of_replica : claims_) {
    const SignedClaim* other = find(of_replica, claim.sequence);
    if (other != nullptr && other->claim.order == claim.order) frames.push_back(other->frame);
  }
  return frames;
}

Checkpoints::Outcome Checkpoints::record(NodeId replica, const CheckpointClaim& claim,
                                         Frame frame) {
  if (claim.sequence <= stable_.sequence) return Outcome::old;
  auto& claims = claims_[replica];
  if (const SignedClaim* known = find(claims, claim.sequence)) {
    const bool same = known->claim.order == claim.order && known->claim.results == claim.results;
    return same ? Outcome::duplicate : Outcome::conflicting;
  }
  const auto place = std::find_if(claims.begin(), claims.end(), [&](const SignedClaim& c) {
    return c.claim.sequence > claim.sequence;
  });
  if (claims.size() == kClaimsKept && place == claims.begin()) return Outcome::old;
  claims.insert(place, {claim, std::move(frame)});
  if (claims.size() > kClaimsKept) claims.erase(claims.begin());

  std::vector<Frame> equal = equal_to(claim);
  if (equal.size() < quorum_.stable) return Outcome::added;
  adopt(claim, std::move(equal));
  return Outcome::stable;
}

void Checkpoints::adopt(const CheckpointClaim& claim, std::vector<Frame> certificate) {
  if (claim.sequence <= stable_.sequence) return;
  stable_ = claim;
  certificate_ = std::move(certificate);
  for (auto& of_replica : claims_) {
    std::erase_if(of_replica,
                  [&](const SignedClaim& c) { return c.claim.sequence < stable_.sequence; });
  }
}

void Checkpoints::keep_own(const CheckpointClaim& claim, Frame frame) {
  ASSERT(claim.sequence > last_own());
  own_.push_back({claim, std::move(frame)});
  if (own_.size() > kClaimsKept) own_.pop_front();
}

const CheckpointClaim* Checkpoints::own_at(std::uint64_t sequence) const {
  for (const SignedClaim& own : own_) {
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
    const SignedClaim* candidate = find(of_replica, stable_.sequence);
    if (candidate == nullptr || candidate->claim.results == Digest{}) continue;
    std::uint32_t equal = 0;
    for (const auto& of_other : claims_) {
      const SignedClaim* other = find(of_other, stable_.sequence);
      if (other != nullptr && other->claim.results == candidate->claim.results) ++equal;
    }
    if (equal >= quorum_.weak && candidate->claim.results != own->results) return true;
  }
  return false;
}

void Checkpoints::frames_above(std::uint64_t sequence, std::vector<Frame>& out) const {
  for (const SignedClaim& own : own_) {
    if (own.claim.sequence > sequence) out.push_back(own.frame);
  }
}

}  // namespace prophecy::pbft
