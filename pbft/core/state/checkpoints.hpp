// Which batches are proven to be executed by a quorum, so that the log may forget them; and which
// state belongs to them, so that a replica that lacks it can have it from others.
//
// A replica states, after every interval, three digests, each the root of a tree of parts. `order`
// covers all batches so far and what was executed for whom: 2f+1 equal ones make the checkpoint
// stable. `replies` and `service` cover what the service answered and what became of its state.
// They do not make a checkpoint: answers and files of unmodified origins may differ honestly, and
// must not be able to stop the group. f+1 equal ones *certify* such a root: one is a correct
// replica's. With them a replica is repaired that lags, or whose service went astray.
//
// A correct replica states one order at a number, but maybe not one state: what it executes once
// more, after a crash or on a service that had failed, may end otherwise, and about a service that
// fails it makes no statement. So only another order accuses it.
//
// Claims are signed. Those that made a checkpoint stable are its certificate: they prove it to a
// replica that was not there. They name the incarnation of their signer (pbft/core/recovery/
// rejoin.hpp): of what it claimed before the newest one that is known here, only the order counts.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "pbft/core/state/actions.hpp"
#include "pbft/core/state/quorum.hpp"
#include "pbft/wire/frame.hpp"
#include "pbft/wire/messages.hpp"

namespace prophecy::pbft {

struct CheckpointClaim {
  std::uint64_t sequence = 0;
  Digest order{};
  Digest replies{};  // zero: no statement; likewise
  Digest service{};

  friend bool operator==(const CheckpointClaim&, const CheckpointClaim&) = default;
};

class Checkpoints {
 public:
  enum class Outcome : std::uint8_t { added, stable, duplicate, conflicting, old };

  struct SignedClaim {
    NodeId replica = 0;
    CheckpointClaim claim;
    Frame frame;
    // It was verified once, by a key that the group's file does not list any more.
    bool is_void = false;
  };

  // So many claims of each replica are remembered. Correct replicas are no further apart than the
  // window: with room for all checkpoints within it, each becomes stable once 2f+1 have come to it,
  // however far some of them are ahead. Beyond that a later one has to serve.
  Checkpoints(const QuorumRule& quorum, std::size_t claims_kept);

  // A claim whose signature was verified, with the frame that makes it; this replica's own too.
  Outcome record(NodeId replica, const CheckpointClaim& claim, Frame frame);
  // A checkpoint that others have proven: 2f+1 claims with equal order, whose signatures were
  // verified. Ignored unless it is newer than the stable one.
  void adopt(std::vector<SignedClaim> certificate);
  // Keeps the own claim's frame for peers that lack it. Requires that it is the newest.
  void keep_own(const CheckpointClaim& claim, Frame frame);
  // This replica goes back to an earlier state, and will take later checkpoints again.
  void forget_own_above(std::uint64_t sequence);

  // The last stable one; sequence 0 at the start. Its replies and service are those that are
  // certified, zero where none are.
  [[nodiscard]] CheckpointClaim stable() const;
  [[nodiscard]] std::uint64_t stable_sequence() const { return stable_sequence_; }
  // The 2f+1 claims that made it stable, in the order of their replicas' ids; empty at sequence 0.
  // All state the same order, which is what they prove; the rest may differ.
  [[nodiscard]] const std::vector<SignedClaim>& certificate() const { return certificate_; }
  // Finds out which claims of the certificate still prove something, after a restart with another
  // file of the group.
  void review(const std::function<bool(const SignedClaim&)>& is_signed);
  // The certificate convinces others. Where claims in it are void, later ones take their places.
  [[nodiscard]] bool is_proven() const { return void_claims_ == 0; }
  // True once after it has become so.
  [[nodiscard]] bool take_proven() { return std::exchange(has_become_proven_, false); }
  // More claims about the stable checkpoint are of use: some root is not certified.
  [[nodiscard]] bool wants_evidence() const;
  // Those that claim one of the stable checkpoint's certified roots, one bit each.
  [[nodiscard]] std::uint64_t holders() const;
  // Those that claim its certified state of the service, one bit each.
  [[nodiscard]] std::uint64_t holders_of_service() const;

  // Claims about one checkpoint, the stable one when this begins, are collected until the end,
  // whatever becomes stable meanwhile: so late ones are compared with the own claim as well.
  // Requires that this replica has made a claim there.
  struct Watched {
    CheckpointClaim own;
    std::vector<std::optional<CheckpointClaim>> others;  // by replica; null: none yet
    NodeId self = 0;
  };
  void watch(NodeId self);
  void end_watch() { watched_.reset(); }
  // Null while none is watched.
  [[nodiscard]] const Watched* watched() const { return watched_ ? &*watched_ : nullptr; }
  // A claim there may still be of use: it is not the end of what a correct replica has to say. Also
  // while this replica has still to say it itself, or watches another one: no further checkpoint
  // need come at which it finds out that its state is wrong.
  [[nodiscard]] bool concerns(std::uint64_t sequence) const {
    const bool is_watched_later = watched_ || own_at(stable_sequence_) == nullptr;
    const bool is_lacking = wants_evidence() || !is_proven() || is_watched_later;
    return sequence > stable_sequence_ || (sequence == stable_sequence_ && is_lacking) ||
           (watched_ && watched_->own.sequence == sequence);
  }
  // The claim of this message, without its two states if the signer is known to have lost its
  // memory since: the signer may have been faulty then, and others may be now.
  [[nodiscard]] CheckpointClaim claimed_by(const CheckpointMessage& message) const;
  // The replica has lost its memory: of what it claimed before, only the order counts. Ignored
  // unless the incarnation is new.
  void begin_life(NodeId replica, std::uint64_t incarnation);
  // How many lives have begun, of all replicas: each may end the certification of a state.
  [[nodiscard]] std::uint64_t lives_begun() const { return lives_begun_; }
  // False when this replica's frame says nothing new. What it said first is what counts, but that
  // it may make a statement where it made none; and that it may also vouch for what f+1 others say:
  // whoever claims one order here and another there is faulty, and yet a part of certificates that
  // correct replicas have.
  [[nodiscard]] bool wants(NodeId replica, const CheckpointClaim& claim) const;
  // Null when this replica has made no claim there.
  [[nodiscard]] const CheckpointClaim* own_at(std::uint64_t sequence) const;
  // True when the own claim at the stable sequence number exists and has another order.
  [[nodiscard]] bool diverged() const;
  // The last own claim, 0 before the first.
  [[nodiscard]] std::uint64_t last_own() const {
    return own_.empty() ? 0 : own_.back().claim.sequence;
  }
  // Appends what a peer lacks whose last stable checkpoint is at `sequence`: the certificate of a
  // later one, and the own claims behind that.
  void frames_above(std::uint64_t sequence, std::vector<Frame>& out) const;

 private:
  [[nodiscard]] static const SignedClaim* find(const std::vector<SignedClaim>& claims,
                                               std::uint64_t sequence);
  [[nodiscard]] const SignedClaim* find_own(std::uint64_t sequence) const;
  bool keep(SignedClaim claim, bool is_vouched_for);
  // True when the watched checkpoint lacks it.
  [[nodiscard]] bool is_awaited(NodeId replica, const CheckpointClaim& claim) const;
  // f+1 others state this order there.
  [[nodiscard]] bool is_vouched_for(NodeId replica, const CheckpointClaim& claim) const;
  // Takes the place of a void claim in the certificate.
  void replace_void(const SignedClaim& claim);
  // All that state this order at this sequence number.
  [[nodiscard]] std::vector<SignedClaim> equal_to(const CheckpointClaim& claim) const;
  // About the stable checkpoint, in the certificate or after it.
  [[nodiscard]] std::vector<SignedClaim> evidence() const;
  [[nodiscard]] Digest certified(Digest CheckpointClaim::*root) const;

  QuorumRule quorum_;
  std::size_t claims_kept_;
  std::vector<std::vector<SignedClaim>> claims_;  // by replica, rising
  std::vector<std::uint64_t> lives_;              // the newest incarnation, by replica
  std::uint64_t lives_begun_ = 0;
  std::deque<SignedClaim> own_;  // rising
  std::uint64_t stable_sequence_ = 0;
  std::vector<SignedClaim> certificate_;
  std::size_t void_claims_ = 0;  // of it
  bool has_become_proven_ = false;
  // What the evidence certifies, kept until that changes.
  mutable std::optional<CheckpointClaim> stable_;
  std::optional<Watched> watched_;
};

}  // namespace prophecy::pbft
