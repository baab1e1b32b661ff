// What GET /metrics shows of a replica.
#pragma once

#include <string>

#include "pbft/replica/replica_parts.hpp"

namespace prophecy::pbft {

// Prometheus' text format.
[[nodiscard]] std::string prometheus_text(const ReplicaParts& parts);
// All metrics that prometheus_text() may have, as TOML (http/metrics/metric_descriptions.hpp).
[[nodiscard]] std::string describe_metrics();

}  // namespace prophecy::pbft
