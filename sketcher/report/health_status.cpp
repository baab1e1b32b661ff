#include "sketcher/report/health_status.hpp"

#include <nlohmann/json.hpp>

namespace prophecy::sketcher {

using replica_client::GroupHealth;
using replica_client::OriginHealth;
using replica_client::OriginState;

namespace {

bool has(replica_client::ReplicaSet set, NodeId replica) {
  return (set & replica_client::bit_of(replica)) != 0;
}

}  // namespace

void add_health(nlohmann::ordered_json& origin, const GroupHealth& group, NodeId replica,
                TimePoint now) {
  const OriginHealth& health = group.origin(replica);
  origin["state"] = to_string(health.state());
  origin["reason"] = health.reason();
  origin["since_seconds"] = std::chrono::duration_cast<seconds>(now - health.since()).count();
  origin["probation"] = health.on_probation();
  origin["drawn"] = has(group.drawable(), replica);
  origin["kept"] = has(group.kept(), replica);
}

void add_health(http::Exposition& out, const http::Exposition::Labels& origin,
                const GroupHealth& group, NodeId replica) {
  for (std::size_t i = 0; i < replica_client::kOriginStateCount; ++i) {
    const auto state = static_cast<OriginState>(i);
    http::Exposition::Labels labels = origin;
    labels["state"] = to_string(state);
    out.gauge("prophecy_origin_state", "1 for the state that an origin is in.", labels,
              group.origin(replica).state() == state ? 1 : 0);
  }
  out.gauge("prophecy_origin_drawn", "1 when an origin may be drawn for fast reads.", origin,
            has(group.drawable(), replica) ? 1 : 0);
}

}  // namespace prophecy::sketcher
