// What `prophecyctl status` shows of a replica.
#pragma once

#include <string>

#include "pbft/core/counters.hpp"
#include "pbft/core/key_exchange.hpp"
#include "pbft/group_file.hpp"
#include "pbft/services/executor.hpp"
#include "pbft/services/service.hpp"
#include "pbft/transport/replica_transport.hpp"

namespace prophecy::pbft {

// References to the parts of a running node, for the length of one call.
struct ReplicaParts {
  NodeId replica = 0;
  ReplicaStatus status;
  const ReplicaCounters& counters;
  const KeyExchangeCounters& keys;
  const ReplicaTransport& transport;
  const Executor& executor;
  const ServiceCounters& service;
};

// One line of JSON.
[[nodiscard]] std::string status_json(const ReplicaParts& parts, const GroupFile& group);

}  // namespace prophecy::pbft
