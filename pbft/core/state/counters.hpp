// What a replica and a client can tell about themselves. Counters only ever rise.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
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
  not_sealed,        // of a replica, with a signature alone: it may be from anybody
  not_wanted,        // a part that was not asked for
  count_,
};
constexpr std::size_t kDropReasonCount = static_cast<std::size_t>(DropReason::count_);

[[nodiscard]] std::string_view to_string(DropReason reason);

using DropCounters = std::array<std::uint64_t, kDropReasonCount>;

// Why a replica has asked for another view.
enum class ViewChangeCause : std::uint8_t {
  none,
  request_waited,   // a client's request was not ordered in time
  nothing_settled,  // a proposal was not agreed on in time
  no_new_view,      // the view that was asked for did not begin in time
  others_asked,     // f+1 others did
  primary_rejoins,  // it has lost its memory
  primary_gone,     // its process has ended, while something waited for it
  primary_slow,     // requests waited again and again, each within its time
  count_,
};
constexpr std::size_t kViewChangeCauseCount = static_cast<std::size_t>(ViewChangeCause::count_);
[[nodiscard]] std::string_view to_string(ViewChangeCause cause);

// A proposal that was refused for its time, to tell whose clock differs from whose.
struct TimeRefusal {
  NodeId primary = 0;
  std::uint64_t proposed = 0;  // nanoseconds since the epoch
  std::uint64_t own = 0;       // likewise; 0: there was none
};

struct ReplicaCounters {
  DropCounters dropped{};
  std::uint64_t frames_received = 0;
  std::uint64_t signatures_checked = 0;
  std::uint64_t batches_proposed = 0;
  std::uint64_t batches_executed = 0;
  std::uint64_t batches_executed_ahead = 0;  // before they were committed; tentative execution
  std::uint64_t batches_undone = 0;          // of these, such as were not agreed on afterwards
  std::uint64_t requests_executed = 0;       // ordered
  std::uint64_t requests_repeated = 0;       // ordered again by mistake, not executed again
  std::uint64_t requests_forwarded = 0;      // to the primary
  std::uint64_t reads_executed = 0;          // outside the order
  std::uint64_t executions_unavailable = 0;
  std::uint64_t replies_sent = 0;
  std::uint64_t replies_repeated = 0;  // from the cache
  std::uint64_t cached_replies_dropped = 0;
  std::uint64_t status_sent = 0;
  std::uint64_t frames_repeated = 0;  // for peers that said what they lack
  std::uint64_t checkpoints_stable = 0;
  std::uint64_t contents_fetched = 0;      // of batches known by their digest
  std::uint64_t view_changes_started = 0;  // by this replica, at its own or others' instance
  std::array<std::uint64_t, kViewChangeCauseCount> view_changes_by_cause{};
  std::uint64_t views_entered = 0;
  std::uint64_t parts_fetched = 0;  // of checkpoints' states
  std::uint64_t parts_served = 0;
  std::uint64_t bodies_fetched = 0;   // of requests by digest; whole, and on the disk
  std::uint64_t bodies_given_up = 0;  // that never came, or were not what their names said
  std::uint64_t states_restored = 0;  // of others, or its own of an earlier checkpoint
  // Checkpoints at which f+1 other replicas had the same replies, or the same state of the service,
  // and this one had one that fewer than f+1 have.
  std::uint64_t reply_divergences = 0;
  std::uint64_t state_divergences = 0;
  // Checkpoints at which no f+1 replicas claim one state: nobody could be repaired with it.
  std::uint64_t states_uncertified = 0;
  std::uint64_t snapshots_failed = 0;
  std::uint64_t restores_failed = 0;
  TimeRefusal last_time_refused{};
};

enum class ReplicaState : std::uint8_t {
  normal,
  changing_view,  // it has asked for the view that it names, and waits for its first message
  diverged,       // 2f+1 others executed another history; it has stopped voting
};
[[nodiscard]] std::string_view to_string(ReplicaState state);

// What a replica knows of another one, which may lie about itself.
struct PeerStanding {
  NodeId replica = 0;
  // As its last Status said.
  std::uint64_t view = 0;
  std::uint64_t last_ordered = 0;
  std::uint64_t last_stable = 0;
  std::uint64_t behind = 0;  // batches that it lacked of what was ordered here, when it said so
  TimePoint heard_at = TimePoint::min();  // its last message that a MAC or a signature proved
  DropCounters dropped{};                 // of those that were proven to be its own
  DropCounters dropped_in_its_name{};     // of those that only said so: anybody may have sent them
  TimePoint contradicted_at = TimePoint::min();  // last proven to break the protocol
  TimePoint forged_at = TimePoint::min();        // last wrong MAC or signature in its name
  std::uint64_t views_failed = 0;                // views that this replica left, with it as primary
  TimePoint view_failed_at = TimePoint::min();
};

// Whether this replica's state is about to be replaced (core/recovery/recovery.hpp).
enum class RecoveryState : std::uint8_t {
  none,
  fetching,      // parts of a checkpoint's state
  restoring,     // the service is being made what a checkpoint says
  service_lost,  // its state cannot be relied on, and cannot be restored yet
};
[[nodiscard]] std::string_view to_string(RecoveryState state);

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
  std::uint64_t base = 0;          // the checkpoint that a restart begins from
  std::uint64_t silent_until = 0;  // after a loss of memory: votes on nothing up to it; 0: votes
  RecoveryState recovery = RecoveryState::none;
  bool answers = true;  // its service's state can be relied on, as far as it knows
  std::uint64_t parts_missing = 0;
  std::uint64_t bodies_missing = 0;  // of requests by digest
  std::uint64_t log_batches = 0;
  std::uint64_t log_bytes = 0;
  std::uint64_t queued_requests = 0;
  std::uint64_t queued_bytes = 0;
  std::uint64_t cached_reply_bytes = 0;
  std::uint64_t executions_in_flight = 0;
  // Batches that f+1 others have ordered and this replica has not executed: one of them is correct.
  std::uint64_t lag = 0;
  std::vector<PeerStanding> peers;  // all others, by id
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
  std::uint64_t parts_served = 0;  // of requests' bodies
};

}  // namespace prophecy::pbft
