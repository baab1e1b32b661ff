// What GET /metrics shows of a replica.
#pragma once

#include <string>

#include "pbft/replica/replica_parts.hpp"

namespace prophecy::pbft {

// Prometheus' text format.
[[nodiscard]] std::string prometheus_text(const ReplicaParts& parts);

}  // namespace prophecy::pbft
