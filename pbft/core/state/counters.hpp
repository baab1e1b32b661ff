// What a replica and a client count, and the snapshots that they give of themselves. Counters only
// ever rise. The rows below each block say what the status, the metrics and the documentation make
// of it (base/metric.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/metric.hpp"

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
  left_out,         // proposals came late again and again, and agreement waited for that
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
  std::uint64_t epochs_too_far = 0;  // requests whose epoch is too far beyond the newest
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
  std::uint64_t states_adopted = 0;   // at an operator's word
  std::uint64_t states_restored = 0;  // of others, or its own of an earlier checkpoint
  // Checkpoints at which f+1 other replicas had the same replies, or the same state of the service,
  // and this one had one that fewer than f+1 have.
  std::uint64_t reply_divergences = 0;
  std::uint64_t state_divergences = 0;
  // Checkpoints at which no f+1 replicas claim one state: nobody could be repaired with it.
  std::uint64_t states_uncertified = 0;
  // Writes to which the service gave no usable answer; of these, such as 2f+1 replicas settled by
  // equal states; restores, to execute such a write once more; and such as were left as they were,
  // so that no result was voted on before the next checkpoint.
  std::uint64_t writes_uncertain = 0;
  std::uint64_t writes_settled = 0;
  std::uint64_t writes_repeated = 0;
  std::uint64_t writes_doubted = 0;
  std::uint64_t snapshots_failed = 0;
  std::uint64_t restores_failed = 0;
  TimeRefusal last_time_refused{};
};
inline constexpr std::string_view kViewChangeCauses =
    "`request_waited`: a request was not ordered in time; `nothing_settled`: a proposal was not "
    "agreed on in time; `no_new_view`: the view that was asked for did not begin in time; "
    "`others_asked`: f+1 others did; `primary_rejoins`: the primary has lost its memory; "
    "`primary_gone`: its process has ended; `primary_slow`: requests waited again and again, each "
    "within its time; `left_out`: the primary's proposals came late again and again, by way of "
    "others.";
inline constexpr std::string_view kDropReasons =
    "`malformed`, `bad_length`: not a message of this version, or beyond a limit; "
    "`unknown_sender`: "
    "not a member, or not entitled to the message; `no_session_key`: the key is not known yet, or "
    "not "
    "any more; `bad_mac`, `bad_signature`: not from its sender; `wrong_view`; "
    "`outside_water_marks`; "
    "`conflicting`: it contradicts an earlier message of its sender; `duplicate`; "
    "`stale_timestamp`: "
    "the session has gone on; `time_refused`: this replica's clock contradicts a proposed time; "
    "`queue_full`; `not_serving`: this replica has stopped voting; `rate_limited`; "
    "`signature_wanted`: the client's MACs have been wrong for some replicas; `not_sealed`: a "
    "replica's signature alone, which anybody may have sent; `not_wanted`: a part that was not "
    "asked "
    "for.";
inline constexpr Metric kExecutionsMetric =
    counter_metric("prophecy_replica_executions_total", "executions",
                   "Executions by how they came about.")
        .by("kind");
inline constexpr auto kReplicaTable = metric_table<ReplicaCounters>(
    "", "core",
    {metric_row<&ReplicaCounters::frames_received>(
         "frames_received", counter_metric("prophecy_replica_frames_received_total", "messages",
                                           "Messages received.")),
     metric_row<&ReplicaCounters::signatures_checked>(
         "signatures_checked",
         counter_metric("prophecy_replica_signatures_checked_total", "signatures",
                        "Signatures of messages that were checked.")),
     metric_row<&ReplicaCounters::batches_proposed>(
         "batches_proposed", counter_metric("prophecy_replica_batches_proposed_total", "batches",
                                            "Batches proposed by this replica.")),
     metric_row<&ReplicaCounters::batches_executed>(
         "batches_executed",
         counter_metric("prophecy_replica_batches_executed_total", "batches", "Batches executed.")),
     metric_row<&ReplicaCounters::requests_executed>("requests_executed", kExecutionsMetric,
                                                     "ordered", "In the agreed order."),
     metric_row<&ReplicaCounters::batches_executed_ahead>(
         "batches_executed_ahead",
         counter_metric("prophecy_replica_batches_executed_ahead_total", "batches",
                        "Batches executed before they were committed.")
             .about("Tentative execution.")),
     metric_row<&ReplicaCounters::batches_undone>(
         "batches_undone",
         counter_metric("prophecy_replica_batches_undone_total", "batches",
                        "Batches executed ahead that were not agreed on afterwards.")),
     metric_row<&ReplicaCounters::requests_repeated>(
         "requests_repeated",
         counter_metric("prophecy_replica_requests_repeated_total", "requests",
                        "Requests ordered again by mistake, and not executed again.")),
     metric_row<&ReplicaCounters::requests_forwarded>(
         "requests_forwarded", counter_metric("prophecy_replica_requests_forwarded_total",
                                              "requests", "Requests passed on to the primary.")),
     metric_row<&ReplicaCounters::reads_executed>("reads_executed", kExecutionsMetric, "read_only",
                                                  "Reads outside the order."),
     metric_row<&ReplicaCounters::executions_unavailable>(
         "executions_unavailable", counter_metric("prophecy_replica_executions_unavailable_total",
                                                  "executions", "Executions without a result.")),
     metric_row<&ReplicaCounters::epochs_too_far>(
         "epochs_too_far",
         counter_metric("prophecy_replica_epochs_too_far_total", "requests",
                        "Requests of a ring's view that is too far beyond the newest one.")),
     metric_row<&ReplicaCounters::replies_sent>(
         "replies_sent",
         counter_metric("prophecy_replica_replies_sent_total", "replies", "Replies sent.")),
     metric_row<&ReplicaCounters::replies_repeated>(
         "replies_repeated", counter_metric("prophecy_replica_replies_repeated_total", "replies",
                                            "Replies repeated from the cache.")),
     metric_row<&ReplicaCounters::cached_replies_dropped>(
         "cached_replies_dropped",
         counter_metric("prophecy_replica_cached_replies_dropped_total", "replies",
                        "Cached replies that were dropped to make room.")),
     metric_row<&ReplicaCounters::status_sent>(
         "status_sent",
         counter_metric("prophecy_replica_status_sent_total", "messages", "Status messages sent.")),
     metric_row<&ReplicaCounters::frames_repeated>(
         "frames_repeated", counter_metric("prophecy_replica_frames_repeated_total", "messages",
                                           "Messages sent again to peers that lacked them.")),
     metric_row<&ReplicaCounters::checkpoints_stable>(
         "checkpoints_stable", counter_metric("prophecy_replica_checkpoints_stable_total",
                                              "checkpoints", "Checkpoints that became stable.")),
     metric_row<&ReplicaCounters::contents_fetched>(
         "contents_fetched",
         counter_metric("prophecy_replica_contents_fetched_total", "batches",
                        "Batches known by their digest whose content was fetched.")),
     metric_row<&ReplicaCounters::view_changes_started>("view_changes_started", kNoMetric),
     metric_row<&ReplicaCounters::views_entered>(
         "views_entered",
         counter_metric("prophecy_replica_views_entered_total", "views", "Views begun.")),
     metric_row<&ReplicaCounters::reply_divergences>(
         "reply_divergences",
         counter_metric("prophecy_replica_reply_divergences_total", "checkpoints",
                        "Checkpoints at which f+1 others had equal replies, and this replica had "
                        "different ones.")),
     metric_row<&ReplicaCounters::state_divergences>(
         "state_divergences",
         counter_metric("prophecy_replica_state_divergences_total", "checkpoints",
                        "Checkpoints at which f+1 others had equal states, and this replica had a "
                        "different one.")),
     metric_row<&ReplicaCounters::writes_uncertain>(
         "writes_uncertain",
         counter_metric("prophecy_replica_writes_uncertain_total", "writes",
                        "Executions of writes to which the origin gave no usable answer.")),
     metric_row<&ReplicaCounters::writes_settled>(
         "writes_settled",
         counter_metric("prophecy_replica_writes_settled_total", "writes",
                        "Such writes that 2f+1 replicas settled, in equal states.")),
     metric_row<&ReplicaCounters::writes_repeated>(
         "writes_repeated",
         counter_metric(
             "prophecy_replica_writes_repeated_total", "writes",
             "Restores of this replica's state, in order to execute such a write again.")),
     metric_row<&ReplicaCounters::writes_doubted>(
         "writes_doubted",
         counter_metric("prophecy_replica_writes_doubted_total", "writes",
                        "Such writes that were not executed once more; this replica votes on no "
                        "results until a checkpoint shows which state is right.")),
     metric_row<&ReplicaCounters::states_uncertified>(
         "states_uncertified",
         counter_metric("prophecy_replica_states_uncertified_total", "checkpoints",
                        "Checkpoints at which no f+1 replicas had the same state.")
             .about("No replica can be repaired from them.")),
     metric_row<&ReplicaCounters::states_adopted>(
         "states_adopted", counter_metric("prophecy_replica_states_adopted_total", "states",
                                          "Present states that were adopted at operators' word.")),
     metric_row<&ReplicaCounters::states_restored>(
         "states_restored",
         counter_metric("prophecy_replica_states_restored_total", "states",
                        "States that replaced this replica's own.")
             .about("They come from others, or from an earlier checkpoint of its own.")),
     metric_row<&ReplicaCounters::restores_failed>(
         "restores_failed", counter_metric("prophecy_replica_restores_failed_total", "restores",
                                           "Restorations that failed.")),
     metric_row<&ReplicaCounters::snapshots_failed>(
         "snapshots_failed",
         counter_metric("prophecy_replica_snapshots_failed_total", "snapshots",
                        "Checkpoints without the service's state, because its snapshot failed.")),
     metric_row<&ReplicaCounters::parts_fetched>(
         "parts_fetched", counter_metric("prophecy_replica_parts_fetched_total", "parts",
                                         "Parts of checkpoints fetched from peers.")),
     metric_row<&ReplicaCounters::parts_served>(
         "parts_served", counter_metric("prophecy_replica_parts_served_total", "parts",
                                        "Parts of checkpoints sent to peers.")),
     metric_row<&ReplicaCounters::bodies_fetched>(
         "bodies_fetched", counter_metric("prophecy_replica_bodies_fetched_total", "bodies",
                                          "Bodies of large requests fetched.")),
     metric_row<&ReplicaCounters::bodies_given_up>(
         "bodies_given_up",
         counter_metric(
             "prophecy_replica_bodies_given_up_total", "bodies",
             "Bodies of large requests that did not come, or were not what was announced."))});
inline constexpr auto kReplicaReasonTable = metric_table<ReplicaCounters>(
    "", "",
    {metric_rows_by<&ReplicaCounters::view_changes_by_cause, ViewChangeCause, 1>(
         "view_changes", counter_metric("prophecy_replica_view_changes_total", "view changes",
                                        "Views asked for, by cause.")
                             .by("cause", kViewChangeCauses)),
     metric_rows_by<&ReplicaCounters::dropped, DropReason>(
         "dropped", counter_metric("prophecy_replica_dropped_total", "messages",
                                   "Messages dropped, by reason.")
                        .by("reason", kDropReasons))});

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
inline constexpr Metric kPeerSequenceMetric =
    gauge_metric("prophecy_replica_peer_sequence", "number",
                 "The last batch of each stage, as the peer reported.")
        .by("stage");
inline constexpr auto kPeerTable = metric_table<PeerStanding>(
    "peer, address", "peers[]",
    {metric_row<&PeerStanding::view>("view",
                                     gauge_metric("prophecy_replica_peer_view", "number",
                                                  "The view in the last message of the peer.")),
     metric_row<&PeerStanding::last_ordered>("last_ordered", kPeerSequenceMetric, "ordered"),
     metric_row<&PeerStanding::last_stable>("last_stable", kPeerSequenceMetric, "stable"),
     metric_row<&PeerStanding::behind>(
         "behind", gauge_metric("prophecy_replica_peer_behind_batches", "batches",
                                "Batches ordered here that the peer lacked at its last report.")),
     metric_row<&PeerStanding::views_failed>(
         "views_failed", counter_metric("prophecy_replica_peer_views_failed_total", "views",
                                        "Views that were left with the peer as primary."))});
// With a second label of its own, and members of the status that are objects.
inline constexpr Metric kPeerDroppedMetric =
    counter_metric("prophecy_replica_peer_dropped_total", "messages",
                   "Messages of the peer that were dropped: proven to be its own, or in its name.")
        .by("reason",
            "With a proof, `proven` or `claimed`. The reasons are those of "
            "`prophecy_replica_dropped_total`; the status has them as `peers[].dropped` and "
            "`peers[].dropped_in_its_name`.");
inline constexpr Metric kPeerConnectedMetric =
    gauge_metric("prophecy_replica_peer_connected", "flag",
                 "1 while the connection to the peer is there.")
        .about("The status has it as `peers[].connected`.");
inline constexpr Metric kPeerSilenceMetric =
    gauge_metric("prophecy_replica_peer_silent_seconds", "seconds",
                 "Seconds since the last authentic message of the peer, or the start.")
        .about("The status has it as `peers[].silent_seconds`.");
inline constexpr Metric kPeerSuspectedMetric =
    gauge_metric("prophecy_replica_peer_suspected", "reasons",
                 "Number of reasons to suspect the peer.")
        .about("The status names them as `peers[].suspected`.");
inline constexpr Metric kPeerQueuedMetric =
    gauge_metric("prophecy_replica_peer_queued_bytes", "bytes",
                 "Bytes that wait to be sent to the peer.")
        .about("The status has it as `peers[].queued_bytes`.");

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
  std::uint64_t epoch = 0;
  // Batches that f+1 others have ordered and this replica has not executed: one of them is correct.
  std::uint64_t lag = 0;
  std::vector<PeerStanding> peers;  // all others, by id
};
inline constexpr Metric kSequenceMetric =
    gauge_metric("prophecy_replica_sequence", "number", "The last batch of each stage.")
        .by("stage");
inline constexpr auto kProgressTable = metric_table<ReplicaStatus>(
    "", "progress",
    {metric_row<&ReplicaStatus::last_proposed>("last_proposed", kSequenceMetric, "proposed",
                                               "By this replica."),
     metric_row<&ReplicaStatus::last_ordered>("last_ordered", kSequenceMetric, "ordered",
                                              "All up to it are committed here."),
     metric_row<&ReplicaStatus::last_executed>("last_executed", kSequenceMetric, "executed"),
     metric_row<&ReplicaStatus::last_stable>("last_stable", kSequenceMetric, "stable",
                                             "The last stable checkpoint."),
     metric_row<&ReplicaStatus::base>("base", kSequenceMetric, "base",
                                      "The checkpoint that a restart begins from."),
     metric_row<&ReplicaStatus::epoch>(
         "epoch",
         gauge_metric("prophecy_replica_epoch", "number",
                      "The newest view of a ring of sketchers that a request was made in; 0 "
                      "without a ring.")),
     metric_row<&ReplicaStatus::lag>(
         "lag",
         gauge_metric("prophecy_replica_lag_batches", "batches",
                      "Batches that f+1 others have ordered and this replica has not executed.")),
     metric_row<&ReplicaStatus::log_batches>(
         "log_batches",
         gauge_metric("prophecy_replica_log_batches", "batches", "Batches in the log.")),
     metric_row<&ReplicaStatus::log_bytes>(
         "log_bytes",
         gauge_metric("prophecy_replica_log_bytes", "bytes",
                      "Bytes of the log, with bodies: 8 KiB for each beside its size.")),
     metric_row<&ReplicaStatus::queued_requests>(
         "queued_requests", gauge_metric("prophecy_replica_queued_requests", "requests",
                                         "Requests that wait to be proposed.")),
     metric_row<&ReplicaStatus::queued_bytes>(
         "queued_bytes", gauge_metric("prophecy_replica_queued_bytes", "bytes",
                                      "Bytes of the requests that wait to be proposed.")),
     metric_row<&ReplicaStatus::cached_reply_bytes>(
         "cached_reply_bytes", gauge_metric("prophecy_replica_cached_reply_bytes", "bytes",
                                            "Bytes of replies kept for repetition.")),
     metric_row<&ReplicaStatus::executions_in_flight>(
         "executions_in_flight", gauge_metric("prophecy_replica_executions_in_flight", "executions",
                                              "Executions that the service has not answered."))});
inline constexpr auto kViewTable = metric_table<ReplicaStatus>(
    "", "",
    {metric_row<&ReplicaStatus::view>("view",
                                      gauge_metric("prophecy_replica_view", "number", "The view.")),
     metric_row<&ReplicaStatus::primary>(
         "primary",
         gauge_metric("prophecy_replica_primary", "number", "Number of the view's primary."))});
inline constexpr auto kRecoveryTable = metric_table<ReplicaStatus>(
    "", "recovery",
    {metric_row<&ReplicaStatus::parts_missing>(
        "parts_missing", gauge_metric("prophecy_replica_parts_missing", "parts",
                                      "Parts of a state that are still to be fetched."))});
inline constexpr Metric kStateMetric =
    gauge_metric("prophecy_replica_state", "flag", "1 for the state that the replica is in.")
        .by("state", "The status has it as `state`.");
inline constexpr Metric kRecoveryMetric =
    gauge_metric("prophecy_replica_recovery", "flag",
                 "1 for the current step of recovering the replica's state.")
        .by("state", "The status has it as `recovery.state`.");
inline constexpr Metric kRejoiningMetric =
    gauge_metric("prophecy_replica_rejoining", "flag",
                 "1 while the replica votes on nothing because it has lost its memory.")
        .about("The status has it as `recovery.rejoining`.");

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
