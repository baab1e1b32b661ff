// From agreed batches, and reads outside the order, to executions and replies, and from there to
// checkpoints and back.
//
// Batches are handed out in their order, each request at most once. Results may come back in any
// order; batches count as executed in sequence. At a checkpoint everything before it is finished
// first, so that there is one state to speak of:
//
//   running --- a checkpoint is due ---> draining --- all have finished ---> snapshotting
//      ^                                                                          |
//      +------------------------------ the service's state is kept ---------------+
//
//   running, draining --- another state is to take its place ---> quiescing --- all have
//   finished ---> restoring --- the service has it ---> running
//
// With tentative_execution (OSDI 1999, section 5.1), the batch behind the last ordered one is
// executed once it is prepared, and answered with tentative replies. It is not ordered by that:
//
//   nothing ahead --- prepared, executed ---> ahead --- the same batch is committed ---> nothing
//   ahead
//                                               |
//                                               +--- another one is, or the next view knows nothing
//                                               of it ---> contradicted --- the state of the own
//                                               last checkpoint is restored ---> nothing ahead
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "pbft/core/bodies/bodies.hpp"
#include "pbft/core/execution/epoch_fence.hpp"
#include "pbft/core/execution/history.hpp"
#include "pbft/core/execution/session_tree.hpp"
#include "pbft/core/execution/snapshots.hpp"
#include "pbft/core/execution/uncertain_writes.hpp"
#include "pbft/core/state/checkpoints.hpp"
#include "pbft/core/state/client_table.hpp"
#include "pbft/core/state/context.hpp"
#include "pbft/core/state/log.hpp"

namespace prophecy::pbft {

class ExecutionStage {
 public:
  enum class State : std::uint8_t {
    running,
    draining,
    snapshotting,
    quiescing,
    restoring,
    looking,  // at the present state of a service that has lost its own (recovery/adoption.hpp)
  };

  ExecutionStage(Context& context, Log& log, ClientTable& clients, Checkpoints& checkpoints,
                 Snapshots& snapshots, PartStore& parts, Bodies& bodies, UncertainWrites& writes);

  // Requires the slot behind the last ordered one. Hands its batch out when that may be done, or
  // takes note that what was executed ahead is committed; false when there is nothing to do yet.
  [[nodiscard]] bool take(Slot& slot, ReplicaActions& out);
  // What was executed ahead has to be in the view that was entered, or it is undone.
  void on_new_view();
  // A read outside the order. Requires an authenticated request; its frame is copied.
  void read(const RequestMessage& request, ByteView frame, ReplicaActions& out);
  // Answers the session's last ordered request from the cache, unless that was done just now, or
  // has to wait for its execution.
  void repeat_reply(Session& session, ReplicaActions& out);

  void on_executed(std::uint64_t id, ExecutionStatus status, Bytes result, ReplicaActions& out);
  // Counts executed batches, and goes on to a snapshot or to what is to be restored; true when
  // there was something.
  bool advance(ReplicaActions& out);
  // Checkpoints of a service that cannot be asked for its state follow each other at once: some in
  // one event, the others in those after it.
  void begin_event() { untold_in_event_ = 0; }
  // When the next event is wanted.
  [[nodiscard]] TimePoint next_timer() const;
  // Zero: the service could not tell its state.
  void on_snapshot(const Digest& service, ReplicaActions& out);

  // The state at sequence number 0 is a checkpoint, too, that everybody has by itself.
  [[nodiscard]] bool may_begin_at_zero() const;
  void begin_at_zero(ReplicaActions& out);
  // Goes back, or on, to a checkpoint whose parts are here, as soon as nothing is under way.
  void begin_restore(const CheckpointClaim& claim);
  // The outcome of a restore. `lost_again`: of the service, meanwhile; the state itself is
  // whole. `failed`: it could not be had (not all parts of it can be read), and is asked for again
  // later.
  enum class Restored : std::uint8_t { done, lost_again, failed };
  // `done`: the service has its part of the state.
  Restored on_restored(bool done);

  [[nodiscard]] State state() const { return state_; }
  // Of requests; the newest that was ordered.
  [[nodiscard]] std::uint64_t epoch() const { return epochs_.newest(); }
  // Null when there is none.
  [[nodiscard]] const CheckpointClaim* to_restore() const {
    return to_restore_ ? &*to_restore_ : nullptr;
  }
  // How many requests the service is executing: all of them, and those without reads.
  [[nodiscard]] std::uint64_t in_flight() const { return in_flight_; }
  [[nodiscard]] std::uint64_t ordered_in_flight() const { return ordered_in_flight_; }
  // A write may have been lost on the way to the service, or one too many has reached it: nothing
  // is voted on until it is restored.
  [[nodiscard]] bool is_unreliable() const { return unreliable_ || is_contradicted(); }
  // The latter alone: the service itself is well, and can be restored at once.
  [[nodiscard]] bool is_merely_contradicted() const { return !unreliable_ && is_contradicted(); }
  // The session's last request was executed ahead, in vain: it is as new as it was.
  [[nodiscard]] bool is_undone(const Session& session) const {
    return session.is_ahead && is_contradicted();
  }
  // What it waits for is its service, which is in a good state and has something to do.
  [[nodiscard]] bool is_service_at_work() const {
    return !is_unreliable() && !to_restore_ &&
           (ordered_in_flight_ > 0 || state_ == State::snapshotting);
  }
  // The service has been asked for its state, and has not told it yet.
  [[nodiscard]] bool is_asking_for_state() const {
    return state_ == State::snapshotting || state_ == State::looking ||
           (uncertain_ && !uncertain_->is_seen);
  }
  void on_service_lost();

  // A write without a usable answer is being compared (uncertain_writes.hpp): its number, and since
  // when.
  struct Comparison {
    std::uint64_t sequence = 0;
    TimePoint since{};
    Duration snapshot_took{};
  };
  [[nodiscard]] std::optional<Comparison> comparison() const;
  // Ends it without an agreement. The state is to be replaced: unreliable until then; or it is
  // kept, and nothing is voted on before a checkpoint has shown whether it is right.
  void drop_uncertain(ReplicaActions& out);
  void keep_uncertain(ReplicaActions& out);
  // The number of the first write that was kept so.
  [[nodiscard]] std::optional<std::uint64_t> in_doubt_since() const { return in_doubt_since_; }
  void end_doubt(bool is_wrong);
  void ask_for_checkpoint(std::uint64_t sequence) { writes_.ask_for_checkpoint(sequence); }

  // For an operator's sake: nothing more is handed to the service, until thaw() or a restore.
  void freeze() { is_frozen_ = true; }
  void thaw() { is_frozen_ = false; }
  [[nodiscard]] bool is_frozen() const { return is_frozen_; }
  // Nothing is under way, and the present state can be looked at.
  [[nodiscard]] bool may_look() const {
    return is_frozen_ && state_ == State::running && ordered_in_flight_ == 0 && !ahead_ &&
           !uncertain_;
  }
  void look(ReplicaActions& out);
  // True when the answer to a snapshot is one to look().
  [[nodiscard]] bool end_look(const Digest& service);
  // The present state is right, and holds all that batches up to this number were to bring about.
  // `from`: the checkpoint whose record of executed requests is gone on from; null: that of now.
  // False when it cannot be read. Requires may_look().
  [[nodiscard]] bool adopt(std::uint64_t sequence, const CheckpointClaim* from,
                           ReplicaActions& out);
  [[nodiscard]] bool has_sessions() const { return has_sessions_; }
  // The sessions of which requests were ordered since the last call, in place of what `sessions`
  // held; and whether others may be concerned, since sessions came with a state.
  void take_ordered(std::vector<SessionName>& sessions) {
    sessions.clear();
    sessions.swap(ordered_);
  }
  [[nodiscard]] bool take_loaded() { return std::exchange(is_loaded_, false); }

 private:
  struct Pending {
    bool finished = false;
    bool read = false;
    NodeId client = 0;
    std::uint32_t session = 0;
    std::uint64_t timestamp = 0;
    NodeId replier = 0;
    Sigma sigma = 0;
    std::uint64_t restores = 0;  // before it, of a read
    std::uint64_t collected_bytes = 0;
    BodyHandle body;  // of one by digest: it is read while it is executed
  };
  struct Uncertain {
    std::uint64_t id = 0;
    UncertainWrite write;
    Bytes result;  // what is answered when it is agreed on
    TimePoint begun{};
    bool is_seen = false;
    TimePoint since{};
  };
  // The batch behind the last ordered one, when it was handed out before it was committed.
  struct Ahead {
    std::uint64_t sequence = 0;
    Digest batch{};
    bool is_contradicted = false;
    std::vector<Session*> sessions;  // whose requests it holds
  };
  // A read that finished while a batch was ahead, which it may have seen.
  struct HeldRead {
    Pending pending;
    Digest digest{};
    Bytes result;
    std::uint64_t ahead = 0;  // sequence number
  };

  [[nodiscard]] bool may_run_ahead(const Slot& slot) const;
  // True when the operations are here that the batch names by their digests, and there is room for
  // them in memory.
  [[nodiscard]] bool collect(Slot& slot);
  // Requires collect().
  void hand_out(Slot& slot, ReplicaActions& out);
  void count_as_ordered(const Slot& slot);
  // Passes over a request of a batch whose effects were adopted.
  void pass_over(const Pending& pending, Session& session, ReplicaActions& out);
  [[nodiscard]] bool is_contradicted() const {
    return ahead_.has_value() && ahead_->is_contradicted;
  }
  void contradict();
  void leave_ahead();
  void answer_held_reads(ReplicaActions& out);
  std::uint64_t start(const Pending& pending);
  void finish_ordered(const Pending& pending, ReplyStatus status, const Digest& digest,
                      Bytes result, ReplicaActions& out);
  void finish_read(const Pending& pending, ReplyStatus status, const Digest& digest, Bytes result,
                   ReplicaActions& out);
  void answer_read(const Pending& pending, ReplyStatus status, const Digest& digest,
                   const Bytes& result, ReplicaActions& out);
  void send_reply(const Pending& pending, ReplyStatus status, const Digest& digest, ByteView result,
                  bool full, ReplicaActions& out);
  // All but the result. Nothing when no reply may be sent now.
  [[nodiscard]] std::optional<ReplyMessage> reply_to(const Pending& pending, ReplyStatus status,
                                                     const Digest& digest) const;
  // The view in which the batch is prepared that was executed ahead, while that is the last word.
  [[nodiscard]] std::optional<std::uint64_t> tentative_view() const;
  // At the next checkpoint the service cannot be asked for its state.
  [[nodiscard]] bool is_untold() const {
    // The state that was adopted belongs behind the last of its batches.
    return unreliable_ || context_.progress.last_executed < adopted_at_;
  }
  [[nodiscard]] bool is_drained() const {
    return state_ == State::draining && ordered_in_flight_ == 0 && !ahead_;
  }
  void take_checkpoint(const Digest& service, ReplicaActions& out);
  void begin_comparison(std::uint64_t id, Sigma sigma, Bytes result, ReplicaActions& out);
  void end_comparison(ExecutionStatus status, ReplicaActions& out);
  void hold(std::vector<Digest> roots);
  void hold_looked_at(const Digest& service);
  [[nodiscard]] bool load(const CheckpointClaim& claim);
  void note_requests(Slot& slot) const;

  Context& context_;
  Log& log_;
  ClientTable& clients_;
  Checkpoints& checkpoints_;
  Snapshots& snapshots_;
  PartStore& parts_;
  Bodies& bodies_;
  UncertainWrites& writes_;
  std::optional<Uncertain> uncertain_;
  std::optional<std::uint64_t> in_doubt_since_;
  SessionTree sessions_;
  std::vector<Digest> held_roots_;  // of the last checkpoint, when it is no snapshot; pinned
  Digest looked_at_{};  // a state of the service at no checkpoint; pinned until the next one
  History history_;
  EpochFence epochs_;
  State state_ = State::running;
  std::optional<CheckpointClaim> to_restore_;
  std::optional<Ahead> ahead_;
  std::uint64_t ahead_from_ = 0;     // nothing is executed ahead up to it: such was undone
  std::deque<HeldRead> held_reads_;  // in the order in which they finished
  std::uint64_t held_read_bytes_ = 0;
  bool is_frozen_ = false;
  std::uint64_t adopted_at_ = 0;  // batches up to it are not handed to the service
  bool unreliable_ = false;
  std::uint32_t untold_in_event_ = 0;  // checkpoints without a state
  bool lost_while_restoring_ = false;
  // Whose requests were executed is known. Not so when a checkpoint's table could not be read.
  bool has_sessions_ = true;
  bool is_loaded_ = false;            // since that was taken
  std::vector<SessionName> ordered_;  // likewise
  std::uint64_t restores_ = 0;
  std::deque<Pending> pending_;  // ids first_id_, first_id_+1, ...
  std::uint64_t first_id_ = 1;
  std::uint64_t in_flight_ = 0;
  std::uint64_t ordered_in_flight_ = 0;
  std::uint32_t reads_in_flight_ = 0;
  // The operations by digest of the batch that is handed out next; null where one is not executed.
  std::vector<BodyOperation> collected_;
  std::uint64_t collected_in_flight_ = 0;
};

}  // namespace prophecy::pbft
