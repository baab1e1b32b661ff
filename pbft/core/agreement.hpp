// The three phases of the normal case: pre-prepare, prepare, commit.
#pragma once

#include <cstdint>

#include "pbft/core/checkpoints.hpp"
#include "pbft/core/client_table.hpp"
#include "pbft/core/context.hpp"
#include "pbft/core/log.hpp"
#include "pbft/core/request_queue.hpp"

namespace prophecy::pbft {

class Agreement {
 public:
  Agreement(Context& context, Log& log, ClientTable& clients, const Checkpoints& checkpoints)
      : context_(context), log_(log), clients_(clients), checkpoints_(checkpoints) {}

  // True when the primary may propose one more batch now, `full` or one that could still grow.
  [[nodiscard]] bool may_propose(bool full) const;
  // Requires may_propose(true). The batch may be without requests.
  void propose(RequestQueue::Batch batch, ReplicaActions& out);

  // Each is true when the frame was authentic.
  bool on_pre_prepare(ByteView frame, ReplicaActions& out);
  bool on_vote(MessageType type, ByteView frame, ReplicaActions& out);
  // What another replica has committed. f+1 of them, and it is: one is correct. So a replica gets
  // on that has missed the votes, or has left the view in which they were cast.
  bool on_decision(ByteView frame, ReplicaActions& out);

  // The new view has settled on this batch. Requires a number within the log, and that this view's
  // agreement on it has not begun.
  void adopt(std::uint64_t sequence, const Digest& batch, ReplicaActions& out);
  // What the journal remembers of the current view. Requires the log's proposals to be there.
  void resume(const Remembered& remembered, ReplicaActions& out);
  // Up to it everything is ordered, and agreed on in the current view or stable.
  [[nodiscard]] std::uint64_t settled() const;
  // The highest sequence number that is taken up now.
  [[nodiscard]] std::uint64_t high_water_mark() const;

 private:
  struct BatchDigests {
    std::vector<Digest> requests;
    Digest batch{};
  };

  [[nodiscard]] static BatchDigests digests_of(const PrePrepareMessage& message);
  [[nodiscard]] bool admits(const PrePrepareMessage& head);
  // True when the time is near this replica's own.
  [[nodiscard]] bool is_timely(const PrePrepareMessage& message);
  // True when every request comes from its client, as far as this replica can know.
  [[nodiscard]] bool vouched_for(const PrePrepareMessage& message, const BatchDigests& digests);
  bool on_content(Slot& slot, ByteView frame, ReplicaActions& out);
  void note_proposal(Slot& slot, const Digest& batch, const Frame& content, ReplicaActions& out);
  void certify(Slot& slot, const Digest& batch, ReplicaActions& out);
  // Its batch is known, and the content is not here.
  [[nodiscard]] bool may_take_up(const Slot& slot) const;
  // The content of an awaited batch is here.
  void take_up(Slot& slot, Frame content, ReplicaActions& out);
  // Requires the slot's batch and requests.
  void pre_prepare(Slot& slot, Frame content, ReplicaActions& out);
  void advance(Slot& slot, ReplicaActions& out);

  Context& context_;
  Log& log_;
  ClientTable& clients_;
  const Checkpoints& checkpoints_;
  TimePoint contents_since_{};
  std::uint64_t contents_bytes_ = 0;  // hashed since then
  // settled() rises within a view.
  mutable std::uint64_t settled_ = 0;
  mutable std::uint64_t views_entered_then_ = 0;
};

}  // namespace prophecy::pbft
