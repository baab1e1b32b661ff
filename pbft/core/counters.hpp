// What a replica and a client can tell about themselves. Counters only ever rise.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/ids.hpp"

namespace prophecy::pbft {

// Why a message was not used. A filter names one before a handler may assert anything.
enum class DropReason : std::uint8_t {
  malformed,       // not a message of this version, or one that breaks a limit
  bad_length,      // a length or count that does not fit the frame
  unknown_sender,  // not a member of the group, or not entitled to this message
  no_session_key,  // the sender's key is not known yet, or not any more
  bad_mac,         // not from whom it says
  bad_signature,   // the same, of a message that is signed
  wrong_view,
  outside_water_marks,
  conflicting,  // contradicts what the same sender said before
  duplicate,
  stale_timestamp,  // a session has gone on
  time_refused,     // a proposed time that this replica's clock contradicts
  queue_full,
  not_serving,       // this replica has stopped voting
  rate_limited,      // a peer that asks too often
  signature_wanted,  // of a client whose MACs have been wrong for some replicas
  count_,
};
constexpr std::size_t kDropReasonCount = static_cast<std::size_t>(DropReason::count_);

[[nodiscard]] std::string_view to_string(DropReason reason);

using DropCounters = std::array<std::uint64_t, kDropReasonCount>;

// A proposal that was refused for its time, to tell whose clock differs from whose.
struct TimeRefusal {
  NodeId primary = 0;
  std::uint64_t proposed = 0;  // nanoseconds since the epoch
  std::uint64_t own = 0;       // likewise; 0: there was none
};

struct ReplicaCounters {
  DropCounters dropped{};
  std::uint64_t frames_received = 0;
  std::uint64_t batches_proposed = 0;
  std::uint64_t batches_executed = 0;
  std::uint64_t requests_executed = 0;   // ordered
  std::uint64_t requests_repeated = 0;   // ordered again by mistake, not executed again
  std::uint64_t requests_forwarded = 0;  // to the primary
  std::uint64_t reads_executed = 0;      // outside the order
  std::uint64_t executions_unavailable = 0;
  std::uint64_t replies_sent = 0;
  std::uint64_t replies_repeated = 0;  // from the cache
  std::uint64_t cached_replies_dropped = 0;
  std::uint64_t status_sent = 0;
  std::uint64_t frames_repeated = 0;  // for peers that said what they lack
  std::uint64_t checkpoints_stable = 0;
  std::uint64_t contents_fetched = 0;      // of batches known by their digest
  std::uint64_t view_changes_started = 0;  // by this replica, at its own or others' instance
  std::uint64_t views_entered = 0;
  // Checkpoint intervals in which f+1 other replicas got the same results and this one did not.
  std::uint64_t result_divergences = 0;
  TimeRefusal last_time_refused{};
};

enum class ReplicaState : std::uint8_t {
  normal,
  changing_view,         // it has asked for the view that it names, and waits for its first message
  needs_state_transfer,  // what it lacks is retained by too few; it has stopped voting
  diverged,              // 2f+1 others executed another history; it has stopped voting
};
[[nodiscard]] std::string_view to_string(ReplicaState state);

// Why a replica has asked for another view.
enum class ViewChangeCause : std::uint8_t {
  none,
  request_waited,   // a client's request was not ordered in time
  nothing_settled,  // a proposal was not agreed on in time
  no_new_view,      // the view that was asked for did not begin in time
  others_asked,     // f+1 others did
};
[[nodiscard]] std::string_view to_string(ViewChangeCause cause);

// A snapshot for people and monitoring.
struct ReplicaStatus {
  ReplicaState state = ReplicaState::normal;
  std::uint64_t view = 0;
  NodeId primary = 0;
  ViewChangeCause view_change_cause = ViewChangeCause::none;  // of the last one asked for
  std::uint64_t last_proposed = 0;                            // by this replica
  std::uint64_t last_ordered = 0;                             // all up to it are committed here
  std::uint64_t last_executed = 0;                            // all up to it are executed here
  std::uint64_t last_stable = 0;                              // the last stable checkpoint known
  std::uint64_t log_batches = 0;
  std::uint64_t log_bytes = 0;
  std::uint64_t queued_requests = 0;
  std::uint64_t queued_bytes = 0;
  std::uint64_t cached_reply_bytes = 0;
  std::uint64_t executions_in_flight = 0;
};

struct ClientCounters {
  DropCounters dropped{};
  std::uint64_t frames_received = 0;
  std::uint64_t calls = 0;
  std::uint64_t agreed = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t overloaded = 0;
  std::uint64_t no_agreement = 0;
  std::uint64_t fell_back = 0;
  std::uint64_t retransmissions = 0;
  std::uint64_t refuted = 0;
};

}  // namespace prophecy::pbft
