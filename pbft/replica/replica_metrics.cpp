#include "pbft/replica/replica_metrics.hpp"

#include "http/metrics/exposition.hpp"
#include "pbft/replica/suspicion.hpp"

namespace prophecy::pbft {
namespace {

using http::Exposition;
using Labels = Exposition::Labels;

constexpr std::array kStates = {ReplicaState::normal, ReplicaState::changing_view,
                                ReplicaState::diverged};
constexpr std::array kRecoveryStates = {RecoveryState::none, RecoveryState::fetching,
                                        RecoveryState::restoring, RecoveryState::service_lost};

// Counters of one name, told apart by one label.
auto counters_by(Exposition& out, const char* label, const char* name, const char* help) {
  return [=, &out](const char* which, std::uint64_t value) {
    out.counter(name, help, {{label, which}}, value);
  };
}

// Counters without labels.
auto plain_counters(Exposition& out) {
  return [&out](const char* name, const char* help, std::uint64_t value) {
    out.counter(name, help, {}, value);
  };
}

void add_state(Exposition& out, const ReplicaStatus& status) {
  for (const ReplicaState state : kStates) {
    out.gauge("prophecy_replica_state", "1 for the state that the replica is in.",
              {{"state", std::string(to_string(state))}}, status.state == state ? 1 : 0);
  }
  out.gauge("prophecy_replica_view", "The view.", {}, static_cast<double>(status.view));
  out.gauge("prophecy_replica_primary", "Number of the view's primary.", {}, status.primary);
  const auto sequence = [&](const char* stage, std::uint64_t value) {
    out.gauge("prophecy_replica_sequence", "The last batch of each stage.", {{"stage", stage}},
              static_cast<double>(value));
  };
  sequence("proposed", status.last_proposed);
  sequence("ordered", status.last_ordered);
  sequence("executed", status.last_executed);
  sequence("stable", status.last_stable);
  out.gauge("prophecy_replica_lag_batches",
            "Batches that f+1 others have ordered and this replica has not executed.", {},
            static_cast<double>(status.lag));
}

void add_held(Exposition& out, const ReplicaStatus& status) {
  const auto held = [&](const char* name, const char* help, std::uint64_t value) {
    out.gauge(name, help, {}, static_cast<double>(value));
  };
  held("prophecy_replica_log_batches", "Batches in the log.", status.log_batches);
  held("prophecy_replica_log_bytes", "Bytes of the log.", status.log_bytes);
  held("prophecy_replica_queued_requests", "Requests that wait to be proposed.",
       status.queued_requests);
  held("prophecy_replica_queued_bytes", "Bytes of these.", status.queued_bytes);
  held("prophecy_replica_cached_reply_bytes", "Results kept for repetition.",
       status.cached_reply_bytes);
  held("prophecy_replica_executions_in_flight", "Executions that the service has not answered.",
       status.executions_in_flight);
}

void add_counters(Exposition& out, const ReplicaCounters& counters) {
  const auto count = plain_counters(out);
  count("prophecy_replica_frames_received_total", "Messages.", counters.frames_received);
  count("prophecy_replica_signatures_checked_total", "Signatures of messages, checked.",
        counters.signatures_checked);
  count("prophecy_replica_batches_proposed_total", "Batches proposed by this replica.",
        counters.batches_proposed);
  count("prophecy_replica_batches_executed_total", "Batches executed.", counters.batches_executed);
  count("prophecy_replica_batches_executed_ahead_total",
        "Batches executed before they were committed.", counters.batches_executed_ahead);
  count("prophecy_replica_batches_undone_total",
        "Batches executed ahead that were not agreed on afterwards.", counters.batches_undone);
  count("prophecy_replica_requests_forwarded_total", "Requests passed on to the primary.",
        counters.requests_forwarded);
  count("prophecy_replica_requests_repeated_total", "Requests ordered again, not executed again.",
        counters.requests_repeated);
  const auto executions = counters_by(out, "kind", "prophecy_replica_executions_total",
                                      "Executions by how they came about.");
  executions("ordered", counters.requests_executed);
  executions("read_only", counters.reads_executed);
  count("prophecy_replica_executions_unavailable_total", "Executions without a result.",
        counters.executions_unavailable);
  count("prophecy_replica_replies_sent_total", "Replies.", counters.replies_sent);
  count("prophecy_replica_replies_repeated_total", "Replies repeated from the cache.",
        counters.replies_repeated);
  count("prophecy_replica_cached_replies_dropped_total", "Results forgotten for want of room.",
        counters.cached_replies_dropped);
  count("prophecy_replica_status_sent_total", "Status messages.", counters.status_sent);
  count("prophecy_replica_frames_repeated_total", "Messages sent again to peers that lacked them.",
        counters.frames_repeated);
  count("prophecy_replica_contents_fetched_total", "Batches known by their digest and fetched.",
        counters.contents_fetched);
  count("prophecy_replica_checkpoints_stable_total", "Checkpoints that became stable.",
        counters.checkpoints_stable);
  count("prophecy_replica_reply_divergences_total",
        "Checkpoints at which f+1 others had the same replies and this replica had not.",
        counters.reply_divergences);
  count("prophecy_replica_state_divergences_total",
        "Checkpoints at which f+1 others had the same state and this replica had not.",
        counters.state_divergences);
  count("prophecy_replica_states_uncertified_total",
        "Checkpoints at which no f+1 replicas had the same state.", counters.states_uncertified);
  count("prophecy_replica_states_restored_total", "States that its own was replaced by.",
        counters.states_restored);
  count("prophecy_replica_restores_failed_total", "Restorations that failed.",
        counters.restores_failed);
  count("prophecy_replica_snapshots_failed_total", "Checkpoints without the service's state.",
        counters.snapshots_failed);
  count("prophecy_replica_parts_fetched_total", "Parts of checkpoints fetched from peers.",
        counters.parts_fetched);
  count("prophecy_replica_parts_served_total", "Parts of checkpoints handed to peers.",
        counters.parts_served);
  count("prophecy_replica_bodies_fetched_total", "Bodies of large requests fetched.",
        counters.bodies_fetched);
  count("prophecy_replica_bodies_given_up_total",
        "Bodies of large requests that did not come, or were not what was announced.",
        counters.bodies_given_up);
  count("prophecy_replica_views_entered_total", "Views begun.", counters.views_entered);
  for (std::size_t i = 1; i < kViewChangeCauseCount; ++i) {
    out.counter("prophecy_replica_view_changes_total", "Views asked for, by cause.",
                {{"cause", std::string(to_string(static_cast<ViewChangeCause>(i)))}},
                counters.view_changes_by_cause[i]);
  }
  for (std::size_t i = 0; i < kDropReasonCount; ++i) {
    out.counter("prophecy_replica_dropped_total", "Messages dropped, by reason.",
                {{"reason", std::string(to_string(static_cast<DropReason>(i)))}},
                counters.dropped[i]);
  }
}

void add_peer(Exposition& out, const ReplicaParts& parts, const PeerStanding& peer) {
  const Labels labels{{"peer", std::to_string(peer.replica)},
                      {"address", to_string(parts.group.replicas[peer.replica].address)}};
  const TransportCounters& sent = parts.transport.counters_to(peer.replica);
  out.gauge("prophecy_replica_peer_connected", "1 while the connection to the peer is there.",
            labels, parts.transport.connected(peer.replica) ? 1 : 0);
  out.counter("prophecy_replica_peer_sent_bytes_total", "Bytes sent to the peer.", labels,
              sent.bytes_sent);
  out.gauge("prophecy_replica_peer_queued_bytes", "Bytes that wait to be sent to the peer.", labels,
            static_cast<double>(parts.transport.queued_bytes_to(peer.replica)));
  out.counter("prophecy_replica_peer_unsent_total", "Messages to the peer that were given up.",
              labels, sent.dropped_queue_full + sent.dropped_not_connected);
  out.gauge("prophecy_replica_peer_view", "The view that the peer said it is in.", labels,
            static_cast<double>(peer.view));
  const auto sequence = [&](const char* stage, std::uint64_t value) {
    Labels with_stage = labels;
    with_stage["stage"] = stage;
    out.gauge("prophecy_replica_peer_sequence", "The last batch of each stage, as the peer said.",
              with_stage, static_cast<double>(value));
  };
  sequence("ordered", peer.last_ordered);
  sequence("stable", peer.last_stable);
  out.gauge("prophecy_replica_peer_behind_batches", "Batches that the peer lacked when it said so.",
            labels, static_cast<double>(peer.behind));
  const TimePoint heard = std::max(peer.heard_at, parts.started_at);
  out.gauge("prophecy_replica_peer_silent_seconds",
            "Since the peer's last proven message, or the start.", labels,
            std::chrono::duration<double>(parts.now - heard).count());
  out.counter("prophecy_replica_peer_views_failed_total", "Views left with the peer as primary.",
              labels, peer.views_failed);
  const auto suspected = suspicions(peer, parts.settings, parts.started_at, parts.now);
  out.gauge("prophecy_replica_peer_suspected",
            "Reasons to look at the peer, see prophecyctl status.", labels,
            static_cast<double>(suspected.size()));
  const auto dropped = [&](const char* proof, const DropCounters& counters) {
    for (std::size_t i = 0; i < kDropReasonCount; ++i) {
      Labels with_reason = labels;
      with_reason["proof"] = proof;
      with_reason["reason"] = to_string(static_cast<DropReason>(i));
      out.counter("prophecy_replica_peer_dropped_total",
                  "Messages of the peer that were dropped: proven to be its own, or in its name.",
                  with_reason, counters[i]);
    }
  };
  dropped("proven", peer.dropped);
  dropped("claimed", peer.dropped_in_its_name);
}

void add_transport(Exposition& out, const ReplicaTransport& transport) {
  const TransportCounters counters = transport.counters();
  out.gauge("prophecy_replica_connections", "Accepted connections that are open.", {},
            static_cast<double>(transport.inbound()));
  out.counter("prophecy_replica_connections_total", "Accepted connections.", {}, counters.accepted);
  const auto frames = [&](const char* direction, std::uint64_t count, std::uint64_t bytes) {
    out.counter("prophecy_replica_transport_frames_total", "Messages on all connections.",
                {{"direction", direction}}, count);
    out.counter("prophecy_replica_transport_bytes_total", "Bytes on all connections.",
                {{"direction", direction}}, bytes);
  };
  frames("sent", counters.frames_sent, counters.bytes_sent);
  frames("received", counters.frames_received, counters.bytes_received);
  const auto unsent = counters_by(out, "reason", "prophecy_replica_transport_unsent_total",
                                  "Messages that were given up.");
  unsent("queue_full", counters.dropped_queue_full);
  unsent("not_connected", counters.dropped_not_connected);
  const auto closed = counters_by(out, "reason", "prophecy_replica_connections_closed_total",
                                  "Connections closed by this replica, by reason.");
  closed("limit", counters.closed_limit);
  closed("evicted", counters.closed_evicted);
  closed("crowded", counters.closed_crowded);
  closed("garbage", counters.closed_garbage);
  closed("stalled", counters.closed_stalled);
}

void add_service(Exposition& out, const Executor& executor, const ServiceCounters& service) {
  out.gauge("prophecy_replica_executions_waiting", "Executions that wait for a write before them.",
            {}, static_cast<double>(executor.waiting()));
  const auto refused = counters_by(out, "reason", "prophecy_replica_executions_refused_total",
                                   "Reads outside the order that were refused.");
  refused("unordered_write", executor.counters().refused_unordered_write);
  refused("overload", executor.counters().refused_overload);
  const auto requests = counters_by(out, "end", "prophecy_replica_service_requests_total",
                                    "Requests to the service.");
  requests("executed", service.executed);
  requests("unavailable", service.unavailable);
  requests("malformed", service.malformed);
  requests("repeated", service.repeated);
  requests("uncertain_write", service.uncertain_writes);
  const auto origin = counters_by(out, "failure", "prophecy_replica_origin_failures_total",
                                  "Failures of the origin.");
  origin("refused", service.origin_refused);
  origin("tls", service.origin_tls_failures);
  origin("broken", service.origin_broken);
  origin("timeout", service.origin_timeouts);
  origin("malformed", service.origin_malformed);
}

void add_recovery(Exposition& out, const ReplicaStatus& status) {
  for (const RecoveryState state : kRecoveryStates) {
    out.gauge("prophecy_replica_recovery", "1 for what is being done about the replica's state.",
              {{"state", std::string(to_string(state))}}, status.recovery == state ? 1 : 0);
  }
  out.gauge("prophecy_replica_rejoining",
            "1 while it votes on nothing, because it has lost its memory.", {},
            status.silent_until > 0 ? 1 : 0);
  out.gauge("prophecy_replica_parts_missing", "Parts of a state that are still to be fetched.", {},
            static_cast<double>(status.parts_missing));
}

void add_storage(Exposition& out, const ReplicaStorage::Counters& stored) {
  const auto count = plain_counters(out);
  count("prophecy_replica_store_commits_total", "Commits that are complete.", stored.store.commits);
  count("prophecy_replica_store_writes_total", "Writes, each of one commit or more.",
        stored.store.writes);
  count("prophecy_replica_store_bytes_total", "Bytes of keys and values.", stored.store.bytes);
  count("prophecy_replica_store_syncs_total", "Writes that were synced.", stored.store.syncs);
  out.gauge("prophecy_replica_store_pending_bytes", "Bytes that are not on the disk yet.", {},
            static_cast<double>(stored.store.pending_bytes));
  out.gauge("prophecy_replica_parts", "Parts of states that are held.", {},
            static_cast<double>(stored.parts_held));
  count("prophecy_replica_parts_written_total", "Parts written to the disk.", stored.parts.written);
  count("prophecy_replica_parts_damaged_total", "Parts that were not what was written.",
        stored.parts.damaged);
  count("prophecy_replica_parts_refused_total", "Parts that the disk refused.",
        stored.parts.refused);
}

}  // namespace

std::string prometheus_text(const ReplicaParts& parts) {
  Exposition out;
  add_state(out, parts.status);
  add_recovery(out, parts.status);
  add_held(out, parts.status);
  add_counters(out, parts.counters);
  for (const PeerStanding& peer : parts.status.peers)
    add_peer(out, parts, peer);
  add_transport(out, parts.transport);
  add_service(out, parts.executor, parts.service);
  if (parts.stored) add_storage(out, *parts.stored);
  out.resident_memory();
  return out.text();
}

}  // namespace prophecy::pbft
