#include "pbft/replica/replica_metrics.hpp"

#include "http/metrics/exposition.hpp"
#include "http/metrics/metric_descriptions.hpp"
#include "pbft/replica/suspicion.hpp"

namespace prophecy::pbft {
namespace {

using http::Exposition;
using Labels = Exposition::Labels;

constexpr std::array kStates = {ReplicaState::normal, ReplicaState::changing_view,
                                ReplicaState::diverged};
constexpr std::array kRecoveryStates = {RecoveryState::none, RecoveryState::fetching,
                                        RecoveryState::restoring, RecoveryState::service_lost};

void add_state(Exposition& out, const ReplicaStatus& status) {
  for (const ReplicaState state : kStates)
    out.add(kStateMetric, {}, to_string(state), status.state == state ? 1 : 0);
  for (const RecoveryState state : kRecoveryStates)
    out.add(kRecoveryMetric, {}, to_string(state), status.recovery == state ? 1 : 0);
  out.add(kRejoiningMetric, {}, status.silent_until > 0 ? 1 : 0);
  out.add(kViewTable, {}, status);
  out.add(kProgressTable, {}, status);
  out.add(kRecoveryTable, {}, status);
}

void add_dropped(Exposition& out, Labels labels, const char* proof, const DropCounters& counters) {
  labels["proof"] = proof;
  for (std::size_t i = 0; i < kDropReasonCount; ++i)
    out.add(kPeerDroppedMetric, labels, to_string(static_cast<DropReason>(i)),
            static_cast<double>(counters[i]));
}

void add_peer(Exposition& out, const ReplicaParts& parts, const PeerStanding& peer) {
  const Labels labels{{"peer", std::to_string(peer.replica)},
                      {"address", to_string(parts.group.replicas[peer.replica].address)}};
  out.add(kPeerTable, labels, peer);
  out.add(kPeerTransportTable, labels, parts.transport.counters_to(peer.replica));
  out.add(kPeerConnectedMetric, labels, parts.transport.connected(peer.replica) ? 1 : 0);
  out.add(kPeerQueuedMetric, labels,
          static_cast<double>(parts.transport.queued_bytes_to(peer.replica)));
  const TimePoint heard = std::max(peer.heard_at, parts.started_at);
  out.add(kPeerSilenceMetric, labels, std::chrono::duration<double>(parts.now - heard).count());
  const auto suspected = suspicions(peer, parts.settings, parts.started_at, parts.now);
  out.add(kPeerSuspectedMetric, labels, static_cast<double>(suspected.size()));
  add_dropped(out, labels, "proven", peer.dropped);
  add_dropped(out, labels, "claimed", peer.dropped_in_its_name);
}

}  // namespace

std::string prometheus_text(const ReplicaParts& parts) {
  Exposition out;
  add_state(out, parts.status);
  out.add(kReplicaTable, {}, parts.counters);
  out.add(kReplicaReasonTable, {}, parts.counters);
  out.add(kKeyTable, {}, parts.keys);
  for (const PeerStanding& peer : parts.status.peers)
    add_peer(out, parts, peer);
  out.add(kTransportTable, {}, parts.transport.counters());
  out.add(kConnectionsMetric, {}, static_cast<double>(parts.transport.inbound()));
  out.add(kExecutorTable, {}, parts.executor.counters());
  out.add(kWaitingMetric, {}, static_cast<double>(parts.executor.waiting()));
  out.add(kServiceTable, {}, parts.service);
  if (parts.stored) {
    out.add(kStoreTable, {}, parts.stored->store);
    out.add(kPartsTable, {}, *parts.stored);
    out.add(kPartStoreTable, {}, parts.stored->parts);
  }
  out.resident_memory();
  return out.text();
}

std::string describe_metrics() {
  http::MetricDescriptions out;
  out.add(kStateMetric, "");
  out.add(kViewTable);
  out.add(kProgressTable);
  out.add(kRecoveryMetric, "");
  out.add(kRejoiningMetric, "");
  out.add(kRecoveryTable);
  out.add(kReplicaTable);
  out.add(kReplicaReasonTable);
  out.add(kKeyTable);
  out.add(kPeerConnectedMetric, "peer, address");
  out.add(kPeerTable);
  out.add(kPeerSilenceMetric, "peer, address");
  out.add(kPeerSuspectedMetric, "peer, address");
  out.add(kPeerDroppedMetric, "peer, address, proof");
  out.add(kPeerTransportTable);
  out.add(kPeerQueuedMetric, "peer, address");
  out.add(kTransportTable);
  out.add(kConnectionsMetric, "");
  out.add(kExecutorTable);
  out.add(kWaitingMetric, "");
  out.add(kServiceTable);
  out.add(kStoreTable);
  out.add(kPartsTable);
  out.add(kPartStoreTable);
  out.add(http::kResidentMemoryMetric, "");
  return out.text();
}

}  // namespace prophecy::pbft
