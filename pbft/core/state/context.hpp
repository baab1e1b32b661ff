// What all parts of one replica share: who it is, what it may, and what it counts. Owned by the
// replica's machine, which outlives the parts.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "pbft/auth/key_ring.hpp"
#include "pbft/core/state/actions.hpp"
#include "pbft/core/state/counters.hpp"
#include "pbft/core/state/input_source.hpp"
#include "pbft/core/state/journal.hpp"
#include "pbft/core/state/payments.hpp"
#include "pbft/core/state/quorum.hpp"
#include "pbft/core/state/settings.hpp"

namespace prophecy::pbft {

// How far this replica is; each number is at most the one above, but for last_proposed, which only
// a primary has.
struct Progress {
  std::uint64_t last_proposed = 0;
  std::uint64_t last_ordered = 0;   // all up to it are committed and handed out for execution
  std::uint64_t last_executed = 0;  // all up to it are executed
  // Of the last batch that was handed out: a part of the replicated state, as it bounds the next.
  std::uint64_t agreed_time = 0;
};

struct Context {
  const ReplicaSettings settings;
  const KeyRing& keys;
  const QuorumRule quorum;
  const NodeId self;
  InputSource& inputs;
  TimePoint now{};  // of the event that is being handled
  std::uint64_t view = 0;
  ReplicaState state = ReplicaState::normal;
  Progress progress{};
  ReplicaCounters counters{};
  Journal journal{false};
  Membership membership{};
  std::vector<Rebirth> rebirths{};  // by replica
  std::vector<Frame> rejoins{};     // likewise: by which it said so; null when that was not here

  // It has executed as much before, as far as it knows, and may have told clients of it: in an
  // earlier state it answers no reads outside the order, or one could miss a confirmed write.
  std::uint64_t reads_from = 0;
  // The highest number on record when this replica was started. Of a checkpoint up to it, those
  // that have claimed its state may have been restarted as well, and have it no more.
  std::uint64_t resumed_to = 0;
  // Up to it the current view has settled on batches when it began; no others are proposed there.
  std::uint64_t chosen_until = 0;
  std::uint64_t ordered_at_entry = 0;  // the last that was ordered here when the view began
  // A restart could hold the record up to here, from the checkpoint on that it would begin from.
  std::uint64_t restart_reach = UINT64_MAX;
  // No more proposals are taken while the stable batches on record are so many bytes. A correct
  // primary stops before that: what a faulty one proposes does not push out of the record what
  // nobody else may have.
  std::uint64_t restart_bytes = UINT64_MAX;
  // Records that are not stable keep no primary from proposing: a faulty primary may have left
  // them, and only new proposals, with the checkpoints behind them, remove them.
  [[nodiscard]] bool is_record_full() const {
    return journal.stable_bytes() >= settings.record_bytes_max();
  }
  // Up to it the log has dropped what lay behind a busy service: it comes as a state, or once more
  // as what others have decided.
  std::uint64_t dropped_until = 0;
  // So many others have voted alike to commit a batch that has not come.
  void note_unseen(std::uint64_t sequence, std::uint32_t votes) {
    if (votes >= quorum.weak) voted_until = std::max(voted_until, sequence);
  }
  // Its service has something ordered to execute, or its state to tell, and has not answered yet:
  // it will. Not while it is restored, or waits to be: for that others, and a primary, may be
  // needed.
  bool is_service_at_work = false;
  // Up to it the primary of this view has proposed what this replica refused: its time was wrong,
  // or a client's MAC. If nobody else takes it either, the primary cannot go on.
  std::uint64_t refused_until = 0;
  // Up to it f+1 others have voted, in this view, to commit what its primary has not sent, or what
  // was lost on the way.
  std::uint64_t voted_until = 0;
  // The highest number that the primary of this view has named in a frame of its own: it sends no
  // lower one for the first time behind that.
  std::uint64_t named_by_primary = 0;
  // A peer that has lost its memory waits for a stable checkpoint there before it votes again.
  std::uint64_t awaited_by_silent = 0;
  // This replica needs the service's state at the stable checkpoint, and has too few claims of it.
  bool lacks_claims = false;

  // Replicas that have asked for a later view than this one, one bit each: they vote in none
  // before.
  std::uint64_t elsewhere = 0;

  // How far each replica has come, as its last Status or pledge said under a MAC of today.
  std::vector<std::uint64_t> claimed{};
  // A certificate far ahead of what is stable here is of this life of the group only if somebody
  // correct says to have come so far: a signature does not tell when it was made.
  [[nodiscard]] bool may_be_stable(std::uint64_t sequence, std::uint64_t own_stable) const {
    if (sequence <= own_stable + 2 * settings.window) return true;
    const auto there = std::count_if(claimed.begin(), claimed.end(),
                                     [&](std::uint64_t one) { return one >= sequence; });
    return there >= static_cast<std::ptrdiff_t>(quorum.weak);
  }

  // In membership.silent_until: the bound is not known yet.
  static constexpr std::uint64_t kAsking = UINT64_MAX;
  [[nodiscard]] bool is_asking() const { return membership.silent_until == kAsking; }
  // Its memory of what it said reaches this far, or nothing was said there.
  [[nodiscard]] bool may_vote(std::uint64_t sequence) const {
    return sequence > membership.silent_until;
  }
  [[nodiscard]] bool is_silent() const { return membership.silent_until > 0; }
  // How often this replica has looked at a body that is missing, or at a session that holds
  // requests by digest: others may heap up such work here, and no event is to go through all of it.
  std::uint64_t looks = 0;
  std::optional<DropReason> last_drop{};  // of the frame that is being handled
  // The replica that has sealed it, if it came so.
  std::optional<NodeId> relay{};
  Payments payments{settings.faults};

  [[nodiscard]] NodeId primary() const { return primary_of(view, quorum.replicas); }
  [[nodiscard]] bool is_primary() const { return primary() == self; }

  // It still follows the protocol, if only to get to the next view.
  [[nodiscard]] bool takes_part() const { return state != ReplicaState::diverged; }

  // Why a MAC of this member was not taken.
  [[nodiscard]] DropReason mac_failure(NodeId from, std::uint32_t session = 0) const {
    return keys.has_key(from, session) ? DropReason::bad_mac : DropReason::no_session_key;
  }

  // The one way to check a signature: it is counted, and paid for.
  [[nodiscard]] bool is_signed_by(NodeId member, const Digest& content, ByteView signature) {
    ++counters.signatures_checked;
    payments.charge_signature();
    return keys.verify_signature(member, content, signature);
  }

  // Two filters of most messages between replicas; each counts what it refuses.
  [[nodiscard]] bool is_peer(NodeId from) {
    const bool peer = is_replica(from, quorum.replicas) && from != self;
    if (!peer) drop(DropReason::unknown_sender);
    return peer;
  }
  [[nodiscard]] bool is_authentic(NodeId from, ByteView content, ByteView authenticator) {
    const bool authentic = keys.verify_authenticator(from, sha256(content), authenticator);
    if (!authentic) drop(mac_failure(from));
    return authentic;
  }

  void drop(DropReason reason) {
    ++counters.dropped[static_cast<std::size_t>(reason)];
    last_drop = reason;
  }

  void send_to_peers(const Frame& frame, ReplicaActions& out) const {
    for (NodeId to = 0; to < quorum.replicas; ++to) {
      if (to != self) out.sends.push_back({to, 0, frame});
    }
  }
};

}  // namespace prophecy::pbft
