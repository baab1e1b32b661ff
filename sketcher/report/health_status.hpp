// What operators see of an origin's health, in the status and among the metrics.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "http/metrics/exposition.hpp"
#include "http/metrics/metric_descriptions.hpp"
#include "replica_client/core/health/group_health.hpp"

namespace prophecy::sketcher {

// Adds members to the status of an origin.
void add_health(nlohmann::ordered_json& origin, const replica_client::GroupHealth& group,
                NodeId replica, TimePoint now);

void add_health(http::Exposition& out, const http::Exposition::Labels& origin,
                const replica_client::GroupHealth& group, NodeId replica, TimePoint now);

void describe_health(http::MetricDescriptions& out);

}  // namespace prophecy::sketcher
