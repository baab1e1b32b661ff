#include "pbft/replica/replica_status.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

#include "pbft/core/state/context.hpp"
#include "pbft/replica/suspicion.hpp"

namespace prophecy::pbft {

namespace {

using Json = nlohmann::ordered_json;

Json core_json(const ReplicaCounters& counters) {
  return {{"frames_received", counters.frames_received},
          {"signatures_checked", counters.signatures_checked},
          {"batches_proposed", counters.batches_proposed},
          {"batches_executed", counters.batches_executed},
          {"requests_executed", counters.requests_executed},
          {"batches_executed_ahead", counters.batches_executed_ahead},
          {"batches_undone", counters.batches_undone},
          {"requests_repeated", counters.requests_repeated},
          {"requests_forwarded", counters.requests_forwarded},
          {"reads_executed", counters.reads_executed},
          {"executions_unavailable", counters.executions_unavailable},
          {"replies_sent", counters.replies_sent},
          {"replies_repeated", counters.replies_repeated},
          {"cached_replies_dropped", counters.cached_replies_dropped},
          {"status_sent", counters.status_sent},
          {"frames_repeated", counters.frames_repeated},
          {"checkpoints_stable", counters.checkpoints_stable},
          {"contents_fetched", counters.contents_fetched},
          {"view_changes_started", counters.view_changes_started},
          {"views_entered", counters.views_entered},
          {"reply_divergences", counters.reply_divergences},
          {"state_divergences", counters.state_divergences},
          {"states_uncertified", counters.states_uncertified},
          {"states_restored", counters.states_restored},
          {"restores_failed", counters.restores_failed},
          {"snapshots_failed", counters.snapshots_failed},
          {"parts_fetched", counters.parts_fetched},
          {"parts_served", counters.parts_served},
          {"bodies_fetched", counters.bodies_fetched},
          {"bodies_given_up", counters.bodies_given_up}};
}

Json keys_json(const KeyExchangeCounters& counters) {
  return {{"made", counters.keys_made},   {"learnt", counters.keys_learnt},
          {"asked", counters.asked},      {"told", counters.told},
          {"dropped", counters.dropped},  {"wrong_keys", counters.wrong_keys},
          {"refusals", counters.refusals}};
}

Json drops_json(const DropCounters& dropped) {
  Json json = Json::object();
  for (std::size_t reason = 0; reason < dropped.size(); ++reason) {
    json[std::string(to_string(static_cast<DropReason>(reason)))] = dropped[reason];
  }
  return json;
}

Json view_changes_json(const ReplicaCounters& counters) {
  Json json = Json::object();
  for (std::size_t cause = 1; cause < kViewChangeCauseCount; ++cause) {
    json[std::string(to_string(static_cast<ViewChangeCause>(cause)))] =
        counters.view_changes_by_cause[cause];
  }
  return json;
}

// Seconds in steps of 0.1; null for never.
Json seconds_since(TimePoint then, TimePoint now) {
  if (then == TimePoint::min()) return nullptr;
  return std::round(std::chrono::duration<double>(now - then).count() * 10) / 10;
}

Json peer_json(const ReplicaParts& parts, const PeerStanding& peer) {
  const TransportCounters& sent = parts.transport.counters_to(peer.replica);
  return {{"id", peer.replica},
          {"address", to_string(parts.group.replicas[peer.replica].address)},
          {"connected", parts.transport.connected(peer.replica)},
          {"view", peer.view},
          {"last_ordered", peer.last_ordered},
          {"last_stable", peer.last_stable},
          {"behind", peer.behind},
          {"silent_seconds", seconds_since(peer.heard_at, parts.now)},
          {"bytes_sent", sent.bytes_sent},
          {"queued_bytes", parts.transport.queued_bytes_to(peer.replica)},
          {"views_failed", peer.views_failed},
          {"dropped", drops_json(peer.dropped)},
          {"dropped_in_its_name", drops_json(peer.dropped_in_its_name)},
          {"suspected", suspicions(peer, parts.settings, parts.started_at, parts.now)}};
}

Json progress_json(const ReplicaStatus& status) {
  return {{"last_proposed", status.last_proposed},
          {"last_ordered", status.last_ordered},
          {"last_executed", status.last_executed},
          {"last_stable", status.last_stable},
          {"base", status.base},
          {"lag", status.lag},
          {"log_batches", status.log_batches},
          {"log_bytes", status.log_bytes},
          {"queued_requests", status.queued_requests},
          {"queued_bytes", status.queued_bytes},
          {"cached_reply_bytes", status.cached_reply_bytes},
          {"executions_in_flight", status.executions_in_flight}};
}

// Whether its state is about to be replaced, and until when it votes on nothing.
Json recovery_json(const ReplicaStatus& status) {
  const bool asks = status.silent_until == Context::kAsking;
  return {{"state", to_string(status.recovery)},
          {"parts_missing", status.parts_missing},
          {"rejoining", status.silent_until > 0},
          {"silent_until", asks ? Json(nullptr) : Json(status.silent_until)}};
}

Json storage_json(const StoreSettings& settings, const ReplicaStorage::Counters& stored) {
  const auto milliseconds_of = [](Duration time) {
    return std::round(std::chrono::duration<double, std::milli>(time).count() * 1000) / 1000;
  };
  const StoreCounters& store = stored.store;
  const Duration mean = store.syncs > 0
                            ? store.sync_time_total / static_cast<Duration::rep>(store.syncs)
                            : Duration{};
  return {{"folder", settings.folder.string()},
          {"sync", settings.sync == SyncPolicy::always ? "always" : "os"},
          {"commits", store.commits},
          {"writes", store.writes},
          {"bytes", store.bytes},
          {"pending_bytes", store.pending_bytes},
          {"syncs", store.syncs},
          {"sync_milliseconds_mean", milliseconds_of(mean)},
          {"sync_milliseconds_max", milliseconds_of(store.sync_time_max)},
          {"parts", stored.parts_held},
          {"parts_bytes_in_memory", stored.bytes_in_memory},
          {"parts_written", stored.parts.written},
          {"parts_removed", stored.parts.removed},
          {"parts_damaged", stored.parts.damaged},
          {"parts_refused", stored.parts.refused},
          {"flushes", stored.parts.flushes}};
}

Json transport_json(const ReplicaTransport& transport) {
  const TransportCounters& counters = transport.counters();
  return {{"inbound", transport.inbound()},
          {"frames_sent", counters.frames_sent},
          {"frames_received", counters.frames_received},
          {"bytes_sent", counters.bytes_sent},
          {"bytes_received", counters.bytes_received},
          {"dropped_queue_full", counters.dropped_queue_full},
          {"dropped_not_connected", counters.dropped_not_connected},
          {"accepted", counters.accepted},
          {"closed_limit", counters.closed_limit},
          {"closed_evicted", counters.closed_evicted},
          {"closed_crowded", counters.closed_crowded},
          {"closed_garbage", counters.closed_garbage},
          {"closed_stalled", counters.closed_stalled}};
}

Json executor_json(const Executor& executor) {
  const ExecutorCounters& counters = executor.counters();
  return {{"waiting", executor.waiting()},
          {"running", executor.running()},
          {"ordered", counters.ordered},
          {"unordered", counters.unordered},
          {"refused_unordered_write", counters.refused_unordered_write},
          {"refused_overload", counters.refused_overload},
          {"refused_without_state", counters.refused_without_state}};
}

Json service_json(const ServiceCounters& counters) {
  return {{"executed", counters.executed},
          {"unavailable", counters.unavailable},
          {"malformed", counters.malformed},
          {"origin_refused", counters.origin_refused},
          {"origin_tls_failures", counters.origin_tls_failures},
          {"origin_broken", counters.origin_broken},
          {"origin_timeouts", counters.origin_timeouts},
          {"origin_malformed", counters.origin_malformed},
          {"repeated", counters.repeated},
          {"uncertain_writes", counters.uncertain_writes},
          {"given_up", counters.given_up},
          {"snapshots", counters.snapshots},
          {"snapshots_failed", counters.snapshots_failed},
          {"restores", counters.restores},
          {"restores_failed", counters.restores_failed}};
}

}  // namespace

std::string status_json(const ReplicaParts& parts) {
  Json peers = Json::array();
  for (const PeerStanding& peer : parts.status.peers)
    peers.push_back(peer_json(parts, peer));
  Json json{{"replica", parts.replica},
            {"version", PROPHECY_VERSION},
            {"group", to_hex(parts.group.id)},
            {"group_number", parts.group.number},
            {"founded", to_hex(parts.group.founded)},
            {"state", to_string(parts.status.state)},
            {"view", parts.status.view},
            {"primary", parts.status.primary},
            {"view_change_cause", to_string(parts.status.view_change_cause)},
            {"peers", peers},
            {"progress", progress_json(parts.status)},
            {"recovery", recovery_json(parts.status)},
            {"core", core_json(parts.counters)},
            {"view_changes", view_changes_json(parts.counters)},
            {"dropped", drops_json(parts.counters.dropped)},
            {"keys", keys_json(parts.keys)},
            {"transport", transport_json(parts.transport)},
            {"executor", executor_json(parts.executor)},
            {"service", service_json(parts.service)}};
  if (parts.stored) json["storage"] = storage_json(*parts.storage, *parts.stored);
  if (parts.metrics) json["metrics"] = to_string(*parts.metrics);
  return json.dump();
}

}  // namespace prophecy::pbft
