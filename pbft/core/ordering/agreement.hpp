// The three phases of the normal case: pre-prepare, prepare, commit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "pbft/core/bodies/bodies.hpp"
#include "pbft/core/ordering/proposal_times.hpp"
#include "pbft/core/ordering/request_queue.hpp"
#include "pbft/core/ordering/service_pace.hpp"
#include "pbft/core/state/checkpoints.hpp"
#include "pbft/core/state/client_table.hpp"
#include "pbft/core/state/context.hpp"
#include "pbft/core/state/log.hpp"

namespace prophecy::pbft {

class Agreement {
 public:
  Agreement(Context& context, Log& log, ClientTable& clients, const Checkpoints& checkpoints,
            Bodies& bodies)
      : context_(context),
        log_(log),
        clients_(clients),
        checkpoints_(checkpoints),
        bodies_(bodies),
        contents_(context.quorum.replicas) {}

  // True when the primary may propose one more batch now, `full` or one that could still grow.
  [[nodiscard]] bool may_propose(bool full) const;
  // Requires may_propose(true). The batch may be without requests.
  void propose(RequestQueue::Batch batch, ReplicaActions& out);

  // Each is true when the frame was authentic.
  bool on_pre_prepare(ByteView frame, ReplicaActions& out);
  bool on_vote(MessageType type, ByteView frame, ReplicaActions& out);
  // What another replica has committed. f+1 of them, and it is: one is correct. So a replica gets
  // on that has missed the votes, or has left the view in which they were cast. It votes for the
  // batch in its own view as well.
  bool on_decision(ByteView frame, ReplicaActions& out);
  // Bodies have come: batches that waited for nothing else are prepared.
  void on_bodies(ReplicaActions& out);

  // The new view has settled on this batch. Requires a number within the log, and that this view's
  // agreement on it has not begun.
  void adopt(std::uint64_t sequence, const Digest& batch, ReplicaActions& out);
  // What the journal remembers of the current view. Requires the log's proposals to be there.
  void resume(const Remembered& remembered, ReplicaActions& out);
  // It may vote now, on what was proposed before as well.
  void on_membership(ReplicaActions& out);
  // Another view begins. Batches that wait for bodies may come up in it again: what has come of
  // the bodies stays until the checkpoint behind them, or the view after this one.
  void keep_awaited_bodies();
  // Up to it everything is ordered, and agreed on in the current view or stable.
  [[nodiscard]] std::uint64_t settled() const;
  // Likewise, or committed: what is left to do there is this replica's own.
  [[nodiscard]] std::uint64_t agreed() const { return committed_from(settled()); }
  // Some batch that its primary has proposed waits here for bodies; it is pre-prepared after them.
  [[nodiscard]] bool awaits_bodies() const {
    return std::any_of(awaiting_bodies_.begin(), awaiting_bodies_.end(), [&](std::uint64_t one) {
      const Slot* slot = log_.reaches(one) ? log_.find(one) : nullptr;
      return slot != nullptr && slot->phase == SlotPhase::awaited && slot->pre_prepare != nullptr;
    });
  }
  // Up to it everything is ordered; or, where this replica is behind the stable checkpoint, stable,
  // or committed beyond.
  [[nodiscard]] std::uint64_t settled_by_group() const;
  // Requests that are committed, and wait for their execution, wait for no primary. To be called
  // once all that can be is handed out.
  void note_agreed();
  // Proposals of primaries, as this replica has taken them up.
  [[nodiscard]] const TakenProposals& taken() const { return times_.taken(); }
  // The highest sequence number that is taken up now.
  [[nodiscard]] std::uint64_t high_water_mark() const;

 private:
  struct BatchDigests {
    std::vector<Digest> requests;
    Digest batch{};
  };

  void resume_votes(const Remembered& remembered);
  // At a primary whose service is at work: nothing up to it counts as in flight.
  [[nodiscard]] std::uint64_t done_by_service() const {
    return ServicePace{context_.progress.last_ordered, context_.ordered_at_entry,
                       context_.chosen_until, std::max(agreed(), settled_by_group())}
        .done();
  }
  [[nodiscard]] static BatchDigests digests_of(const PrePrepareMessage& message);
  [[nodiscard]] bool admits(const PrePrepareMessage& head);
  [[nodiscard]] bool is_awaited_proposal(const Slot& slot, const PrePrepareMessage& head) const;
  // Its primary has left much above the stable checkpoint, and what it proposes is not the next
  // that can be agreed on. That one is always taken, or correct primaries that a bad network has
  // had leave so much could propose nothing more, and no checkpoint would ever take it away.
  [[nodiscard]] bool leaves_too_much(const PrePrepareMessage& head) const {
    return log_.unstable_bytes(head.primary) >= context_.settings.left_by_one_max() &&
           head.sequence > std::max(agreed(), settled_by_group()) + 1;
  }
  // Too many numbers lie between it and those of which this replica knows a proposal.
  [[nodiscard]] bool is_far_ahead(std::uint64_t sequence) const;
  // True when the time is near this replica's own.
  [[nodiscard]] bool is_timely(const PrePrepareMessage& message);
  // True when every request comes from its client, as far as this replica can know.
  [[nodiscard]] bool vouched_for(const PrePrepareMessage& message, const BatchDigests& digests);
  [[nodiscard]] bool may_prepare_with(const std::vector<BodyHandle>& bodies) const;
  // The last of the batches that are committed without a gap behind that one.
  [[nodiscard]] std::uint64_t committed_from(std::uint64_t done) const;
  void note_taken(const Slot& slot, const Digest& batch);
  // Nothing that is said of batches up to it matters any more.
  [[nodiscard]] std::uint64_t done() const {
    return std::max(context_.progress.last_ordered, log_.first_retained() - 1);
  }
  void note_named(std::uint64_t sequence) {
    context_.named_by_primary = std::max(context_.named_by_primary, sequence);
  }
  bool on_content(Slot& slot, ByteView frame, const PrePrepareMessage& head, ReplicaActions& out);
  void note_proposal(Slot& slot, const Digest& batch, const Frame& content,
                     const std::vector<BodyHandle>& bodies, ReplicaActions& out);
  void certify(Slot& slot, const Digest& batch, ReplicaActions& out);
  // Its batch is known, and the content is not here.
  [[nodiscard]] bool may_take_up(const Slot& slot) const;
  // The content of an awaited batch is here. Nothing is said about it before its bodies are.
  void take_up(Slot& slot, Frame content, ReplicaActions& out);
  // Likewise; `message` is the content decoded, null for the empty batch.
  void take_up(Slot& slot, Frame content, const PrePrepareMessage* message, ReplicaActions& out);
  // Requires the slot's batch, requests and content.
  void pre_prepare(Slot& slot, ReplicaActions& out);
  void vote_to_prepare(Slot& slot, ReplicaActions& out);
  void vote_to_commit(Slot& slot, ReplicaActions& out);
  // Sends this replica's votes for a batch that is committed here upon others' decisions alone.
  void vote_for_decided(Slot& slot, ReplicaActions& out);
  // This replica will prepare a decided batch once the bodies are here.
  [[nodiscard]] bool awaits_prepare(const Slot& slot) const {
    return slot.phase == SlotPhase::committed && slot.is_proposed && slot.own_prepare == nullptr &&
           !context_.is_primary() && slot.sequence > checkpoints_.stable_sequence();
  }
  void advance(Slot& slot, ReplicaActions& out);

  Context& context_;
  Log& log_;
  ClientTable& clients_;
  const Checkpoints& checkpoints_;
  Bodies& bodies_;
  std::set<std::uint64_t> awaiting_bodies_;  // numbers; some may have been given up
  std::vector<BodyHandle> bodies_of_last_view_;
  std::uint64_t last_view_ends_ = 0;  // the highest number that names one of these
  std::vector<Allowance> contents_;   // bytes that each replica may have hashed
  Allowance signatures_in_vain_;
  ProposalTimes times_;
  std::uint64_t noted_ = 0;  // by note_agreed(), up to it
  // settled() rises within a view.
  mutable std::uint64_t settled_ = 0;
  mutable std::uint64_t views_entered_then_ = 0;
};

}  // namespace prophecy::pbft
