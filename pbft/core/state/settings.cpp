#include "pbft/core/state/settings.hpp"

#include <string>

#include "pbft/wire/body.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {
namespace {

constexpr std::uint64_t kRetainedMax = 65536;
// Of a view-change message, beside its certificate and its records.
constexpr std::uint64_t kViewChangeFixedMax = 1024;
constexpr std::uint64_t kCheckpointFrameMax = 256;
constexpr std::uint32_t kFaultsMax = (kReplicasMax - 1) / 3;

Result<> invalid(const char* expected) {
  return Error{ErrorKind::invalid, std::string("expected ") + expected};
}

}  // namespace

std::uint64_t window_max(std::uint32_t faults) {
  const std::uint64_t replicas = 3 * std::uint64_t{faults} + 1;
  const std::uint64_t view_change =
      (kFrameBytesMax - kSealSizeMax - kViewChangeFixedMax) / replicas;
  const std::uint64_t without_window = kViewChangeFixedMax + replicas * kCheckpointFrameMax;
  return (view_change - without_window) / (kBatchRecordSize * (1 + kProposalsPerNumber));
}

Result<> check(const ReplicaSettings& s) {
  if (s.faults < 1 || s.faults > kFaultsMax) return invalid("1 to 21 faults");
  if (s.partial_batches_in_flight_max < 1 ||
      s.batches_in_flight_max < s.partial_batches_in_flight_max) {
    return invalid("at least one batch in flight, and of partial ones no more than of all");
  }
  if (s.batch_requests_max < 1 || s.batch_requests_max > kBatchRequestsMax) {
    return invalid("1 to 4096 requests in a batch");
  }
  if (s.batch_bytes_max < 1 || s.batch_bytes_max > kBatchBytesChosenMax) {
    return invalid("at most 510 KiB in a batch");
  }
  if (s.checkpoint_interval < 1 || s.checkpoint_bytes < 1) return invalid("a checkpoint interval");
  if (s.window < 2 * s.checkpoint_interval || s.window > kWindowMax) {
    return invalid("a window of two checkpoint intervals to 8192 batches");
  }
  if (s.window > window_max(s.faults)) return invalid("a smaller window in so large a group");
  if (s.retained_batches > kRetainedMax) return invalid("at most 65536 retained batches");
  // Else the log could fill up before a checkpoint is due that empties it.
  if (s.log_bytes_max < 2 * s.checkpoint_bytes) return invalid("a log of two checkpoint sizes");
  if (s.queue_requests_max < 2 || s.queue_bytes_max < kFrameBytesMax) {
    return invalid("a queue of two requests and 20 MiB");
  }
  if (s.body_bytes_max < 1 || s.body_bytes_max > kOperationBytesMax ||
      s.operation_front_bytes < 1) {
    return invalid("bodies of 1 byte to 16 GiB");
  }
  if (s.agreed_time_tolerance <= Duration::zero()) return invalid("a tolerance for agreed time");
  if (s.status_interval <= Duration::zero() || s.heartbeat_interval < s.status_interval) {
    return invalid("a status interval not above the heartbeat interval");
  }
  if (s.view_change_timeout < s.status_interval ||
      s.view_change_timeout_max < s.view_change_timeout) {
    return invalid("a view change time-out above the status interval, not above its maximum");
  }
  return {};
}

Result<> check(const ClientSettings& s) {
  if (s.faults < 1 || s.faults > kFaultsMax) return invalid("1 to 21 faults");
  if (s.session_count < 1 || s.session_count > kSessionsMax ||
      s.first_session > kSessionsMax - s.session_count) {
    return invalid("sessions within 0 to 4095");
  }
  if (s.retransmit_after <= Duration::zero() || s.retransmit_after_max < s.retransmit_after) {
    return invalid("a retransmission time not above its maximum");
  }
  if (s.inline_bytes_max > kInlineBytesMax) return invalid("at most 1 MiB within a request");
  if (s.body_leaf_bytes < 1 || s.body_leaf_bytes > kBodyLeafBytesMax) {
    return invalid("parts of a body of 1 byte to 128 KiB");
  }
  if (s.first_timestamp == 0) return invalid("a first timestamp of at least 1");
  return {};
}

}  // namespace prophecy::pbft
