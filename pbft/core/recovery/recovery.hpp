// When this replica's state is to be replaced by a checkpoint's, and how it comes by it:
//
//   - it lags, and what it lacks is no longer retained by enough peers, or is so much that the
//   state
//     is nearer;
//   - its own state at a stable checkpoint is not the one that 2f others have signed, nor one that
//     f+1 have (state_verdict.hpp): its service went astray, which the others' answers mask, but
//     which is to be repaired before it is one of too many. Until the other state is here, and
//     while a repair that did not help is not repeated, it goes on with its own;
//   - its service gave no usable answer to a write, and no 2f+1 replicas are in the same state
//     behind it (uncertain_writes.hpp): likewise, twice at most. After that it goes on, votes on no
//     results, and lets the next checkpoint decide;
//   - its service may have lost a write (its origin was down, or was restarted), or has executed
//     ahead what the group then did not agree on: then it goes back to its own last checkpoint, and
//     executes what came behind it once more.
//
// Where it waits for a state of the group's, and no checkpoint has one that f+1 claim and hand
// over, the next checkpoint may have one. It asks for that: in an idle group none would come.
//
//   nothing --- the service is back, and an own checkpoint is here -----> own ----+
//      ^    --- the group's is wanted, and all its parts are here ------> group --+
//      |                                                                          | it is restored
//      +--- once the replica has gone on with it <--- replaced <------------------+
//      +--- it failed: the same again, not too soon <-----------------------------+
//
// What is known of the service meanwhile (is it reliable at all? the execution stage knows) stands
// beside that: it may come back, or be found astray, in each of these states.
//
// Also keeps the checkpoint that a restart begins from up to date on the disk (restart_base.hpp).
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <utility>

#include "pbft/core/bodies/part_server.hpp"
#include "pbft/core/execution/execution.hpp"
#include "pbft/core/execution/snapshots.hpp"
#include "pbft/core/recovery/record_use.hpp"
#include "pbft/core/recovery/restart_base.hpp"
#include "pbft/core/recovery/state_fetch.hpp"
#include "pbft/core/state/checkpoints.hpp"
#include "pbft/core/state/context.hpp"
#include "pbft/core/state/log.hpp"

namespace prophecy::pbft {

class Recovery {
 public:
  Recovery(Context& context, Log& log, Checkpoints& checkpoints, ExecutionStage& execution,
           Snapshots& snapshots, PartStore& parts);

  // After every event. `beyond_help`: retransmission cannot bring what comes next.
  void advance(bool beyond_help, ReplicaActions& out);
  void on_tick(ReplicaActions& out);
  [[nodiscard]] TimePoint next_timer() const;

  bool on_fetch_parts(ByteView frame, ReplicaActions& out);
  void on_part(const Digest& digest, ByteView part, ReplicaActions& out) {
    fetch_.on_part(digest, part, out);
  }
  void on_restored(bool done);
  void on_parts_flushed(bool done, ReplicaActions& out) { base_.on_parts_flushed(done, out); }
  // The service took no connection, and may have lost what it was told to keep.
  void on_service_away();
  // It answers again, and can be relied on once it has been restored.
  void on_service_back();

  // The present state of the service takes the place of one that could be restored
  // (adoption.hpp): whose requests were executed, and which batches came then, is known here.
  [[nodiscard]] bool knows_sessions() const;
  // False when that cannot be read. Requires knows_sessions(), and ExecutionStage::may_look().
  [[nodiscard]] bool adopt(std::uint64_t sequence, ReplicaActions& out);

  // The checkpoint that a restart begins from; begun without one, the first comes at once.
  void resume_from(const CheckpointClaim& base) { base_.resume_from(base); }
  [[nodiscard]] bool has_base() const { return base_.has(); }
  [[nodiscard]] std::uint64_t base() const { return base_.sequence(); }
  // No restart begins before it.
  [[nodiscard]] std::uint64_t base_before() const { return base_.before(); }
  // Behind the stable checkpoint, but not far; and the next batch is committed, and waits for this
  // replica's service, or for bodies, which come.
  [[nodiscard]] bool goes_on() const;
  // So much lies behind the next batch, and is stable, that it fills the memory: it is to come as a
  // state.
  [[nodiscard]] bool is_far_behind() const;
  // The log keeps the batches behind this replica's own last state, which may be all that leads to
  // the others', as much as the record does. (Both without bodies, which lie on the disk.)
  [[nodiscard]] bool keeps_way() const;
  // 2f+1 have claimed the stable checkpoint's since this replica was started: f+1 correct ones have
  // it, or a later one.
  [[nodiscard]] bool is_state_everywhere() const {
    const int holders = std::popcount(checkpoints_.holders_of_service());
    return facts_.is_claim_recent && static_cast<std::uint32_t>(holders) >= context_.quorum.stable;
  }
  // True once after the state was replaced.
  [[nodiscard]] bool take_replaced();
  [[nodiscard]] const StateFetch& fetch() const { return fetch_; }

 private:
  enum class State : std::uint8_t { nothing, own, group, replaced };
  enum class Service : std::uint8_t {
    as_it_was,
    back,    // it has been away, and may be restored
    astray,  // its state was found to be wrong, and is not repaired yet
    astray_and_back,
  };

  // From when a stable checkpoint lies ahead until none does: batches may wait for their bodies for
  // so long in all, not each of them.
  struct Lag {
    TimePoint noted_at;
    bool awaits_bodies = false;    // since then, the next batch does
    Duration awaited{};            // in all, until then
    std::uint64_t bytes = 0;       // of the bodies that were awaited
    std::uint64_t counted_to = 0;  // the last batch whose bodies are among these
  };

  // A checkpoint to restore; true when one was begun.
  [[nodiscard]] bool is_back() const {
    return service_ == Service::back || service_ == Service::astray_and_back;
  }
  [[nodiscard]] bool is_astray() const {
    return service_ == Service::astray || service_ == Service::astray_and_back;
  }
  [[nodiscard]] bool is_past_base() const;
  // True when a restore was begun.
  bool restore_own();
  // Null: there is none, or the batches behind it are no longer here.
  [[nodiscard]] const CheckpointClaim* own_to_restore() const;
  void end_comparison(ReplicaActions& out);
  [[nodiscard]] bool may_repeat() const { return repeats_at_ && context_.now >= *repeats_at_; }
  void judge_doubt(const Checkpoints::Watched& claims);
  void fetch_group(const CheckpointClaim& target, ReplicaActions& out);
  void release_fetched();
  [[nodiscard]] std::optional<CheckpointClaim> wanted(bool beyond_help) const;
  [[nodiscard]] std::optional<CheckpointClaim> wanted_for_repair(
      const CheckpointClaim& stable) const;
  // This replica restores its own last state when the service is back, and fetches none meanwhile.
  [[nodiscard]] bool awaits_return() const;
  void judge_state();
  void disown(std::uint64_t from, ReplicaActions& out);
  void note_lag();
  void note_awaited();
  // For a state that nobody has.
  [[nodiscard]] bool is_waiting(bool beyond_help) const;
  void ask_for_checkpoint();
  [[nodiscard]] bool is_stuck() const;
  [[nodiscard]] Duration patience() const;
  // Nothing is tried for a while, for longer each time.
  void pause();
  // The record on the disk, from the base on, is to fit into the log of a restart.
  void bound_record(ReplicaActions& out);
  [[nodiscard]] RecordFacts record_facts() const;
  [[nodiscard]] WayBack way_back() const;
  void trim();

  Context& context_;
  Log& log_;
  Checkpoints& checkpoints_;
  ExecutionStage& execution_;
  Snapshots& snapshots_;
  StateFetch fetch_;
  RestartBase base_;
  PartServer server_;
  RecordFacts facts_;  // of the last event
  State state_ = State::nothing;
  Service service_ = Service::as_it_was;
  bool is_away_ = false;  // the service
  // Of the next fetch: after a restore that failed the disk may have lost parts.
  StateFetch::Trust trust_ = StateFetch::Trust::pins;
  TimePoint not_before_{};   // an attempt failed, or did not help
  bool own_failed_ = false;  // its own state could not be restored when that was tried last
  Duration pause_{};
  // Restores to execute uncertain writes once more, and the last of these, until a checkpoint has
  // all of them behind it.
  std::uint32_t repeats_ = 0;
  std::uint64_t repeated_up_to_ = 0;
  std::uint32_t doubted_at_ = 0;  // checkpoints that decided nothing
  // The service is well, but for such a write: its own state is restored from here on.
  std::optional<TimePoint> repeats_at_;
  std::optional<TimePoint> waiting_since_;  // or since it has asked
  std::optional<TimePoint> given_up_at_;    // a fetch whose parts are still here
  std::optional<TimePoint> lagging_since_;
  std::optional<Lag> lag_;  // likewise, whether it goes on or not
  std::uint64_t ordered_then_ = 0;
  std::uint64_t judged_ = 0;  // the last checkpoint at which claims were compared
  TimePoint watched_since_{};
  std::uint64_t lives_begun_ = 0;  // when it was last looked at what to fetch
};

}  // namespace prophecy::pbft
