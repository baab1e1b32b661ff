// What an operator may choose about a replica and a client. check() tells a wrong choice; the
// objects themselves ASSERT that it was asked.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {

struct ReplicaSettings {
  std::uint32_t faults = 1;  // f; n = 3f+1. The replica's own id is the key ring's.

  // Batching: the primary proposes what waits at once while fewer batches than
  // partial_batches_in_flight_max are on their way to being committed, and collects requests
  // otherwise. Full batches have nothing to gain by waiting: they go out up to
  // batches_in_flight_max.
  std::uint32_t batches_in_flight_max = 4;
  std::uint32_t partial_batches_in_flight_max = 2;
  std::uint32_t batch_requests_max = 256;
  std::uint64_t batch_bytes_max = 256 * 1024;  // a larger request travels alone

  // A checkpoint is due after so many batches, or after so many bytes of operations.
  std::uint64_t checkpoint_interval = 128;
  std::uint64_t checkpoint_bytes = 32 * 1024 * 1024;
  // High water mark: the last stable checkpoint plus this. At least two intervals.
  std::uint64_t window = 512;
  // Claims of checkpoints of one replica: for all within the window, and for those that are due by
  // their bytes while twice log_bytes_max are full.
  [[nodiscard]] std::uint64_t claims_kept() const {
    const std::uint64_t due_by_bytes = std::min(window, 2 * (log_bytes_max / checkpoint_bytes));
    return window / checkpoint_interval + due_by_bytes + 8;
  }
  // Batches kept behind the last stable checkpoint, for replicas that lag.
  std::uint64_t retained_batches = 512;
  // Batches are executed, and clients answered, when they are prepared, one message delay before
  // they are committed. Should one not be agreed on after all, which takes a change of the view,
  // the state of the last checkpoint is restored, and what came behind it is executed once more:
  // for services that nothing leaves but their answers.
  bool tentative_execution = false;
  // Frames held by the log in all. The primary proposes nothing beyond it; a backup refuses at
  // twice this, which no correct primary can cause.
  std::uint64_t log_bytes_max = 128 * 1024 * 1024;
  // Proposals of one primary above the stable checkpoint, in all its views, are kept on the disk up
  // to here, and beyond it rejected: what a faulty one leaves behind is in nobody else's way.
  [[nodiscard]] std::uint64_t left_by_one_max() const { return 4 * log_bytes_max; }
  // Bytes of stable batches on record: beyond them, and what faulty primaries may have left there,
  // a primary proposes nothing more before a state on the disk takes their place. Where no other
  // replica may have the state that they lead to, they are kept up to twice as much.
  [[nodiscard]] std::uint64_t record_bytes_max() const {
    return 4 * log_bytes_max + faults * left_by_one_max();
  }
  [[nodiscard]] std::uint64_t record_kept_max() const { return 2 * record_bytes_max(); }

  std::uint64_t queue_requests_max = 65536;  // waiting at the primary; one client may use half
  std::uint64_t queue_bytes_max = 128 * 1024 * 1024;
  // An operation that is ordered by digest; a larger one is not fetched, nor prepared. To be the
  // same at all replicas.
  std::uint64_t body_bytes_max = kOperationBytesMax;
  // Logs count each body as so much more than its bytes, since the replica keeps and fetches even
  // the smallest one as a thing of its own.
  std::uint64_t body_cost = 8 * 1024;
  // Of its beginning, so much is handed out in memory, and the rest to be read.
  std::size_t operation_front_bytes = kInlineBytesMax;
  std::uint64_t cached_reply_bytes_max = 256 * 1024 * 1024;
  std::uint32_t reads_in_flight_max = 4096;  // outside the order

  // A backup that knows of a request waits so long for it to be ordered before it asks for another
  // primary. Doubles with every view that brings nothing, up to view_change_timeout_max.
  Duration view_change_timeout = milliseconds(500);
  Duration view_change_timeout_max = seconds(30);

  // A backup prepares nothing whose proposed time differs by more from its own wall clock. Not
  // below what clocks differ and a proposal is on its way, or correct primaries are replaced.
  Duration agreed_time_tolerance = seconds(5);

  Duration status_interval = milliseconds(50);  // while something is missing and nothing moves
  Duration heartbeat_interval = seconds(1);     // otherwise
};

struct ClientSettings {
  std::uint32_t faults = 1;         // n = 3f+1. The client's own id is the key ring's.
  std::uint32_t first_session = 0;  // workers of one sketcher share an id, not a session
  std::uint32_t session_count = 64;
  std::size_t queue_max = 1024;  // calls waiting for a session; beyond it: overloaded
  Duration retransmit_after = milliseconds(150);  // doubles up to retransmit_after_max
  Duration retransmit_after_max = seconds(2);
  // A larger operation is ordered by digest, and fetched by the replicas in parts of this size.
  std::size_t inline_bytes_max = 64 * 1024;
  std::size_t body_leaf_bytes = 128 * 1024;
  // The first timestamp of each session; greater than any used before under the same id.
  std::uint64_t first_timestamp = 1;
  // An ordered call is answered when 2f+1 replicas have given a reply to it that is not tentative,
  // f+1 of them alike. Without it, a faulty replica can make a read_only call miss a write that f+1
  // replies have just confirmed (docs/protocol.md).
  bool linearizable_reads = false;
  // The replicas' setting of this name. Where it is off, no correct one sends a tentative reply.
  bool tentative_execution = false;
};

[[nodiscard]] Result<> check(const ReplicaSettings& settings);
[[nodiscard]] Result<> check(const ClientSettings& settings);
// The largest window with which the view-change messages of a group for so many faults fit into one
// frame.
[[nodiscard]] std::uint64_t window_max(std::uint32_t faults);

}  // namespace prophecy::pbft
