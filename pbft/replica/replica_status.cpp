#include "pbft/replica/replica_status.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

#include "http/metrics/status_rows.hpp"
#include "pbft/core/state/context.hpp"
#include "pbft/replica/suspicion.hpp"

namespace prophecy::pbft {

namespace {

using Json = nlohmann::ordered_json;

template <class Table, class Block>
Json rows_json(const Table& table, const Block& block) {
  Json json = Json::object();
  http::add_rows(json, table, block);
  return json;
}

Json drops_json(const DropCounters& dropped) {
  Json json = Json::object();
  for (std::size_t reason = 0; reason < dropped.size(); ++reason) {
    json[std::string(to_string(static_cast<DropReason>(reason)))] = dropped[reason];
  }
  return json;
}

// Seconds in steps of 0.1; null for never.
Json seconds_since(TimePoint then, TimePoint now) {
  if (then == TimePoint::min()) return nullptr;
  return std::round(std::chrono::duration<double>(now - then).count() * 10) / 10;
}

Json peer_json(const ReplicaParts& parts, const PeerStanding& peer) {
  Json json{{"id", peer.replica},
            {"address", to_string(parts.group.replicas[peer.replica].address)},
            {"connected", parts.transport.connected(peer.replica)}};
  http::add_rows(json, kPeerTable, peer);
  http::add_rows(json, kPeerTransportTable, parts.transport.counters_to(peer.replica));
  json["silent_seconds"] = seconds_since(peer.heard_at, parts.now);
  json["queued_bytes"] = parts.transport.queued_bytes_to(peer.replica);
  json["dropped"] = drops_json(peer.dropped);
  json["dropped_in_its_name"] = drops_json(peer.dropped_in_its_name);
  json["suspected"] = suspicions(peer, parts.settings, parts.started_at, parts.now);
  return json;
}

// Whether its state is about to be replaced, and until when it votes on nothing.
Json recovery_json(const ReplicaStatus& status) {
  const bool asks = status.silent_until == Context::kAsking;
  Json json{{"state", to_string(status.recovery)}};
  http::add_rows(json, kRecoveryTable, status);
  json["rejoining"] = status.silent_until > 0;
  json["silent_until"] = asks ? Json(nullptr) : Json(status.silent_until);
  return json;
}

Json storage_json(const StoreSettings& settings, const ReplicaStorage::Counters& stored) {
  const auto milliseconds_of = [](Duration time) {
    return std::round(std::chrono::duration<double, std::milli>(time).count() * 1000) / 1000;
  };
  const StoreCounters& store = stored.store;
  const Duration mean = store.syncs > 0
                            ? store.sync_time_total / static_cast<Duration::rep>(store.syncs)
                            : Duration{};
  Json json{{"folder", settings.folder.string()},
            {"sync", settings.sync == SyncPolicy::always ? "always" : "os"}};
  http::add_rows(json, kStoreTable, store);
  json["sync_milliseconds_mean"] = milliseconds_of(mean);
  json["sync_milliseconds_max"] = milliseconds_of(store.sync_time_max);
  http::add_rows(json, kPartsTable, stored);
  http::add_rows(json, kPartStoreTable, stored.parts);
  return json;
}

Json transport_json(const ReplicaTransport& transport) {
  Json json{{"inbound", transport.inbound()}};
  http::add_rows(json, kTransportTable, transport.counters());
  return json;
}

Json executor_json(const Executor& executor) {
  Json json{{"waiting", executor.waiting()}, {"running", executor.running()}};
  http::add_rows(json, kExecutorTable, executor.counters());
  return json;
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
            {"state", to_string(parts.status.state)}};
  http::add_rows(json, kViewTable, parts.status);
  json.update(Json{{"view_change_cause", to_string(parts.status.view_change_cause)},
                   {"peers", peers},
                   {"progress", rows_json(kProgressTable, parts.status)},
                   {"recovery", recovery_json(parts.status)},
                   {"core", rows_json(kReplicaTable, parts.counters)},
                   {"keys", rows_json(kKeyTable, parts.keys)},
                   {"transport", transport_json(parts.transport)},
                   {"executor", executor_json(parts.executor)},
                   {"service", rows_json(kServiceTable, parts.service)}});
  http::add_rows(json, kReplicaReasonTable, parts.counters);
  if (parts.stored) json["storage"] = storage_json(*parts.storage, *parts.stored);
  if (parts.metrics) json["metrics"] = to_string(*parts.metrics);
  return json.dump();
}

}  // namespace prophecy::pbft
