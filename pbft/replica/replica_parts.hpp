// What a running node can tell of itself, for the length of one call: its status for prophecyctl
// and its metrics are made of it.
#pragma once

#include <optional>

#include "pbft/core/key_exchange.hpp"
#include "pbft/core/state/counters.hpp"
#include "pbft/core/state/settings.hpp"
#include "pbft/group/group_file.hpp"
#include "pbft/replica/replica_storage.hpp"
#include "pbft/services/executor.hpp"
#include "pbft/services/service.hpp"
#include "pbft/transport/replica_transport.hpp"

namespace prophecy::pbft {

struct ReplicaParts {
  NodeId replica = 0;
  const GroupFile& group;
  const ReplicaSettings& settings;
  TimePoint started_at;
  TimePoint now;
  ReplicaStatus status;
  const ReplicaCounters& counters;
  const KeyExchangeCounters& keys;
  const ReplicaTransport& transport;
  const Executor& executor;
  const ServiceCounters& service;
  const std::optional<StoreSettings>& storage;
  std::optional<ReplicaStorage::Counters> stored;
  std::optional<Endpoint> metrics;  // where they are, if anywhere
};

}  // namespace prophecy::pbft
