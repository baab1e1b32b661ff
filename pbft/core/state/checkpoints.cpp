#include "pbft/core/state/checkpoints.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "pbft/wire/decode.hpp"

namespace prophecy::pbft {

namespace {

// The same history, with a statement where there was none, and no other where there was one.
bool adds_to(const CheckpointClaim& known, const CheckpointClaim& claim) {
  const auto agrees = [&](Digest CheckpointClaim::*root) {
    return known.*root == Digest{} || known.*root == claim.*root;
  };
  return known.order == claim.order && known != claim && agrees(&CheckpointClaim::replies) &&
         agrees(&CheckpointClaim::service);
}

}  // namespace

Checkpoints::Checkpoints(const QuorumRule& quorum, std::size_t claims_kept)
    : quorum_(quorum),
      claims_kept_(claims_kept),
      claims_(quorum.replicas),
      lives_(quorum.replicas) {}

CheckpointClaim Checkpoints::claimed_by(const CheckpointMessage& message) const {
  CheckpointClaim claim{message.sequence, message.order, {}, {}};
  if (message.incarnation < lives_[message.replica]) return claim;
  claim.replies = message.replies;
  claim.service = message.service;
  return claim;
}

const Checkpoints::SignedClaim* Checkpoints::find(const std::vector<SignedClaim>& claims,
                                                  std::uint64_t sequence) {
  const auto found = std::find_if(claims.begin(), claims.end(), [&](const SignedClaim& c) {
    return c.claim.sequence == sequence;
  });
  return found == claims.end() ? nullptr : &*found;
}

std::vector<Checkpoints::SignedClaim> Checkpoints::equal_to(const CheckpointClaim& claim) const {
  std::vector<SignedClaim> equal;
  for (const auto& of_replica : claims_) {
    const SignedClaim* other = find(of_replica, claim.sequence);
    if (other != nullptr && other->claim.order == claim.order) equal.push_back(*other);
  }
  return equal;
}

bool Checkpoints::is_vouched_for(NodeId replica, const CheckpointClaim& claim) const {
  const std::vector<SignedClaim> equal = equal_to(claim);
  const auto others = std::count_if(equal.begin(), equal.end(), [&](const SignedClaim& other) {
    return other.replica != replica;
  });
  return others >= static_cast<std::ptrdiff_t>(quorum_.weak);
}

bool Checkpoints::wants(NodeId replica, const CheckpointClaim& claim) const {
  if (is_awaited(replica, claim)) return true;
  if (claim.sequence < stable_sequence_) return false;
  const SignedClaim* known = find(claims_[replica], claim.sequence);
  return known == nullptr || known->claim.order != claim.order || adds_to(known->claim, claim);
}

void Checkpoints::begin_life(NodeId replica, std::uint64_t incarnation) {
  if (incarnation <= lives_[replica]) return;
  lives_[replica] = incarnation;
  ++lives_begun_;
  const auto reread = [&](SignedClaim& known) {
    const auto message = decode_checkpoint(*known.frame);
    if (message && message->replica == replica) known.claim = claimed_by(*message);
  };
  std::for_each(claims_[replica].begin(), claims_[replica].end(), reread);
  std::for_each(certificate_.begin(), certificate_.end(), reread);
  // Unless it has said so in the new one.
  const SignedClaim* kept = watched_ ? find(claims_[replica], watched_->own.sequence) : nullptr;
  if (watched_ && (kept == nullptr || kept->claim.service == Digest{})) {
    watched_->others[replica].reset();
  }
  stable_.reset();
}

// What is claimed of another history says nothing of this one, nor does the own claim that comes
// back within a certificate.
bool Checkpoints::is_awaited(NodeId replica, const CheckpointClaim& claim) const {
  if (!watched_ || watched_->own.sequence != claim.sequence || watched_->own.order != claim.order ||
      replica == watched_->self) {
    return false;
  }
  const auto& known = watched_->others[replica];
  return !known || adds_to(*known, claim);
}

void Checkpoints::watch(NodeId self) {
  const CheckpointClaim* own = own_at(stable_sequence_);
  ASSERT(own != nullptr);
  watched_ = Watched{*own, std::vector<std::optional<CheckpointClaim>>(quorum_.replicas), self};
  for (const SignedClaim& known : evidence()) {
    if (known.replica != self) watched_->others[known.replica] = known.claim;
  }
}

// Of too many the lowest goes, which later ones serve as well: but not for what may be made up.
bool Checkpoints::keep(SignedClaim claim, bool is_vouched_for) {
  auto& claims = claims_[claim.replica];
  std::erase_if(claims, [&](const SignedClaim& other) {
    return other.claim.sequence == claim.claim.sequence;
  });
  const auto place = std::find_if(claims.begin(), claims.end(), [&](const SignedClaim& other) {
    return other.claim.sequence > claim.claim.sequence;
  });
  const bool is_lowest = place == claims.begin();
  if (claims.size() == claims_kept_ && is_lowest && !is_vouched_for) return false;
  claims.insert(place, std::move(claim));
  if (claims.size() > claims_kept_) claims.erase(is_lowest ? claims.end() - 1 : claims.begin());
  return true;
}

Checkpoints::Outcome Checkpoints::record(NodeId replica, const CheckpointClaim& claim,
                                         Frame frame) {
  const bool awaited = is_awaited(replica, claim);
  if (awaited) watched_->others[replica] = claim;
  if (awaited && claim.sequence < stable_sequence_) return Outcome::added;
  if (claim.sequence < stable_sequence_ || claim.sequence == 0) return Outcome::old;
  const SignedClaim* known = find(claims_[replica], claim.sequence);
  const bool vouched_for = is_vouched_for(replica, claim);
  if (known != nullptr && known->claim.order != claim.order && !vouched_for) {
    return Outcome::conflicting;
  }
  if (!wants(replica, claim)) return Outcome::duplicate;
  if (claim.sequence == stable_sequence_) replace_void({replica, claim, frame});
  if (!keep({replica, claim, std::move(frame)}, vouched_for)) return Outcome::old;

  if (claim.sequence == stable_sequence_) {
    stable_.reset();
    return Outcome::added;
  }
  std::vector<SignedClaim> equal = equal_to(claim);
  if (equal.size() < quorum_.stable) return Outcome::added;
  adopt(std::move(equal));
  return Outcome::stable;
}

void Checkpoints::adopt(std::vector<SignedClaim> certificate) {
  ASSERT(!certificate.empty());
  const std::uint64_t sequence = certificate.front().claim.sequence;
  if (sequence <= stable_sequence_) return;
  stable_sequence_ = sequence;
  certificate_ = std::move(certificate);
  has_become_proven_ = has_become_proven_ || std::exchange(void_claims_, 0) > 0;
  stable_.reset();
  for (auto& of_replica : claims_) {
    std::erase_if(of_replica, [&](const SignedClaim& c) { return c.claim.sequence < sequence; });
  }
}

void Checkpoints::review(const std::function<bool(const SignedClaim&)>& is_signed) {
  void_claims_ = 0;
  for (SignedClaim& claim : certificate_) {
    claim.is_void = !is_signed(claim);
    if (claim.is_void) ++void_claims_;
  }
}

void Checkpoints::replace_void(const SignedClaim& claim) {
  if (void_claims_ == 0 || claim.claim.order != certificate_.front().claim.order) return;
  auto place =
      std::find_if(certificate_.begin(), certificate_.end(),
                   [&](const SignedClaim& known) { return known.replica == claim.replica; });
  if (place == certificate_.end()) {
    place = std::find_if(certificate_.begin(), certificate_.end(),
                         [](const SignedClaim& known) { return known.is_void; });
  }
  if (!place->is_void) return;
  *place = claim;
  std::sort(certificate_.begin(), certificate_.end(),
            [](const SignedClaim& a, const SignedClaim& b) { return a.replica < b.replica; });
  has_become_proven_ = --void_claims_ == 0;
}

void Checkpoints::keep_own(const CheckpointClaim& claim, Frame frame) {
  ASSERT(claim.sequence > last_own());
  own_.push_back({0, claim, std::move(frame)});
  if (own_.size() > claims_kept_) own_.pop_front();
}

void Checkpoints::forget_own_above(std::uint64_t sequence) {
  while (last_own() > sequence)
    own_.pop_back();
}

const Checkpoints::SignedClaim* Checkpoints::find_own(std::uint64_t sequence) const {
  const auto found = std::find_if(own_.begin(), own_.end(), [&](const SignedClaim& own) {
    return own.claim.sequence == sequence;
  });
  return found == own_.end() ? nullptr : &*found;
}

const CheckpointClaim* Checkpoints::own_at(std::uint64_t sequence) const {
  const SignedClaim* own = find_own(sequence);
  return own == nullptr ? nullptr : &own->claim;
}

std::vector<Checkpoints::SignedClaim> Checkpoints::evidence() const {
  std::vector<SignedClaim> all = certificate_;
  for (const auto& of_replica : claims_) {
    const SignedClaim* claim = find(of_replica, stable_sequence_);
    if (claim == nullptr || claim->claim.order != certificate_.front().claim.order) continue;
    const auto known = std::find_if(all.begin(), all.end(), [&](const SignedClaim& other) {
      return other.replica == claim->replica;
    });
    if (known == all.end()) {
      all.push_back(*claim);
    } else if (adds_to(known->claim, claim->claim)) {
      *known = *claim;
    }
  }
  return all;
}

// Of several that are certified (honest origins may differ), the one with the most claims.
Digest Checkpoints::certified(Digest CheckpointClaim::*root) const {
  const std::vector<SignedClaim> all = evidence();
  Digest best{};
  std::ptrdiff_t most = 0;
  for (const SignedClaim& candidate : all) {
    const Digest& digest = candidate.claim.*root;
    const auto equal = std::count_if(all.begin(), all.end(),
                                     [&](const SignedClaim& c) { return c.claim.*root == digest; });
    if (digest != Digest{} && equal > most) {
      best = digest;
      most = equal;
    }
  }
  return most >= static_cast<std::ptrdiff_t>(quorum_.weak) ? best : Digest{};
}

CheckpointClaim Checkpoints::stable() const {
  if (stable_sequence_ == 0) return {};
  if (!stable_) {
    stable_ =
        CheckpointClaim{stable_sequence_, certificate_.front().claim.order,
                        certified(&CheckpointClaim::replies), certified(&CheckpointClaim::service)};
  }
  return *stable_;
}

bool Checkpoints::wants_evidence() const {
  const CheckpointClaim claim = stable();
  return claim.sequence > 0 && (claim.replies == Digest{} || claim.service == Digest{});
}

std::uint64_t Checkpoints::holders() const {
  const CheckpointClaim wanted = stable();
  std::uint64_t bits = 0;
  for (const SignedClaim& of : evidence()) {
    const bool has_replies = wanted.replies != Digest{} && of.claim.replies == wanted.replies;
    if (of.claim.service == wanted.service || has_replies) {
      bits |= std::uint64_t{1} << of.replica;
    }
  }
  return bits;
}

std::uint64_t Checkpoints::holders_of_service() const {
  const CheckpointClaim wanted = stable();
  std::uint64_t bits = 0;
  for (const SignedClaim& of : evidence()) {
    if (wanted.service != Digest{} && of.claim.service == wanted.service) {
      bits |= std::uint64_t{1} << of.replica;
    }
  }
  return bits;
}

bool Checkpoints::diverged() const {
  const CheckpointClaim* own = own_at(stable_sequence_);
  return own != nullptr && own->order != certificate_.front().claim.order;
}

void Checkpoints::frames_above(std::uint64_t sequence, std::vector<Frame>& out) const {
  // Those who signed it may not be there any more to say so again; and for one who lacks a
  // signature that is still valid, this replica's own may be the one.
  if (stable_sequence_ > sequence) {
    bool has_own = false;
    const SignedClaim* own = find_own(stable_sequence_);
    for (const SignedClaim& claim : certificate_) {
      if (claim.is_void) continue;
      has_own = has_own || (own != nullptr && *claim.frame == *own->frame);
      out.push_back(claim.frame);
    }
    if (own != nullptr && !has_own) out.push_back(own->frame);
  }
  for (const SignedClaim& own : own_) {
    if (own.claim.sequence > std::max(sequence, stable_sequence_)) out.push_back(own.frame);
  }
}

}  // namespace prophecy::pbft
