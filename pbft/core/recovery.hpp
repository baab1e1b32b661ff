// When this replica's state is to be replaced by a checkpoint's, and how it comes by it:
//
//   - it lags, and what it lacks is no longer retained by enough peers, or is so much that the
//   state
//     is nearer;
//   - its own state at a stable checkpoint is not the one that f+1 others have signed: its service
//     went astray, which the others' answers mask, but which is to be repaired before it is one of
//     too many;
//   - its service may have lost a write (its origin was down, or was restarted), or has executed
//     ahead what the group then did not agree on: then it goes back to its own last checkpoint, and
//     executes what came behind it once more.
//
// Also keeps the checkpoint that a restart begins from up to date on the disk.
#pragma once

#include <cstdint>
#include <optional>

#include "pbft/core/checkpoints.hpp"
#include "pbft/core/context.hpp"
#include "pbft/core/execution.hpp"
#include "pbft/core/log.hpp"
#include "pbft/core/snapshots.hpp"
#include "pbft/core/state_fetch.hpp"

namespace prophecy::pbft {

class Recovery {
 public:
  Recovery(Context& context, Log& log, const Checkpoints& checkpoints, ExecutionStage& execution,
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
  void on_parts_flushed(bool done, ReplicaActions& out);
  // The service can be relied on again once it has been restored.
  void on_service_back() { service_back_ = true; }

  // The checkpoint that a restart begins from; begun without one, the first comes at once.
  void resume_from(const CheckpointClaim& base) { base_ = base.sequence; }
  [[nodiscard]] bool has_base() const { return base_.has_value(); }
  [[nodiscard]] std::uint64_t base() const { return base_.value_or(0); }
  // True once after the state was replaced.
  [[nodiscard]] bool take_replaced() { return std::exchange(replaced_, false); }
  [[nodiscard]] const StateFetch& fetch() const { return fetch_; }

 private:
  struct Peer {
    std::uint64_t bytes = 0;  // handed over since
    TimePoint since;
  };

  [[nodiscard]] std::optional<CheckpointClaim> wanted(bool beyond_help);
  void note_divergences(ReplicaActions& out);
  void note_lag();
  [[nodiscard]] bool is_stuck() const;
  [[nodiscard]] Duration patience() const;
  void trim();
  void flush(ReplicaActions& out);

  Context& context_;
  Log& log_;
  const Checkpoints& checkpoints_;
  ExecutionStage& execution_;
  Snapshots& snapshots_;
  PartStore& parts_;
  StateFetch fetch_;
  std::vector<Peer> peers_;
  std::optional<std::uint64_t> base_;
  // Until it is certain that the disk names the base, a restart may begin from the one before it.
  std::uint64_t base_before_ = 0;
  std::optional<CheckpointClaim> flushing_;
  TimePoint flushed_at_{};
  bool flush_failed_ = false;
  TimePoint not_before_{};  // an attempt failed, or did not help
  std::optional<TimePoint> lagging_since_;
  std::uint64_t ordered_then_ = 0;
  std::uint64_t stable_noted_ = 0;
  bool diverged_ = false;  // its state was found to be wrong, and is not repaired yet
  Duration pause_{};
  bool service_back_ = false;
  bool restoring_own_ = false;
  bool thoroughly_ = false;
  bool replaced_ = false;
};

}  // namespace prophecy::pbft
