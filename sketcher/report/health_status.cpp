#include "sketcher/report/health_status.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace prophecy::sketcher {

using replica_client::GroupHealth;
using replica_client::OriginHealth;
using replica_client::OriginState;

namespace {

constexpr Metric kStateMetric =
    gauge_metric("prophecy_origin_state", "flag", "1 for the state that an origin is in.")
        .by("state",
            "`ready`, `drain`, `maint`, `down`, `quarantined` or `slow`. The status has it as "
            "`origins[].state`.");
constexpr Metric kDrawnMetric =
    gauge_metric("prophecy_origin_drawn", "flag", "1 when an origin may be drawn for fast reads.")
        .about("The status has it as `origins[].drawn`.");

constexpr Metric kShareMetric =
    gauge_metric("prophecy_origin_share", "ratio",
                 "The part of the fast reads that an origin is drawn for.")
        .about("By its weight, and its slow start. The status has it as `origins[].share`.");

bool has(replica_client::ReplicaSet set, NodeId replica) {
  return (set & replica_client::bit_of(replica)) != 0;
}

// Of the draws.
double part_of(const GroupHealth& group, NodeId replica,
               const replica_client::OriginShares& shares) {
  double sum = 0;
  for (NodeId other = 0; other < group.size(); ++other) {
    if (has(group.drawable(), other)) sum += shares[other];
  }
  return has(group.drawable(), replica) ? shares[replica] / sum : 0;
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
  origin["weight"] = group.weight(replica);
  // Of a drain with a time.
  if (const auto end = health.drain_end()) {
    origin["drain_seconds_left"] =
        std::max<std::int64_t>(0, std::chrono::ceil<seconds>(*end - now).count());
  }
  origin["share"] = part_of(group, replica, group.shares(now));
}

void add_health(http::Exposition& out, const http::Exposition::Labels& origin,
                const GroupHealth& group, NodeId replica, TimePoint now) {
  for (std::size_t i = 0; i < replica_client::kOriginStateCount; ++i) {
    const auto state = static_cast<OriginState>(i);
    out.add(kStateMetric, origin, to_string(state), group.origin(replica).state() == state ? 1 : 0);
  }
  out.add(kDrawnMetric, origin, has(group.drawable(), replica) ? 1 : 0);
  out.add(kShareMetric, origin, part_of(group, replica, group.shares(now)));
}

void describe_health(http::MetricDescriptions& out) {
  constexpr std::string_view kLabels = "group, replica, address";
  out.add(kStateMetric, kLabels);
  out.add(kDrawnMetric, kLabels);
  out.add(kShareMetric, kLabels);
}

}  // namespace prophecy::sketcher
