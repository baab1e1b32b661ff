// What the status and the metrics say of the ring: its members, what each of them owns, and what
// was forwarded to it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "http/metrics/exposition.hpp"
#include "http/metrics/metric_descriptions.hpp"
#include "sketcher/config/ring_settings.hpp"
#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

// These require that the shape has a ring. `report` is of the ring's process, or null.
[[nodiscard]] nlohmann::ordered_json ring_json(const RingSettings& settings,
                                               const SharedState& shared,
                                               const nlohmann::json& report);
void add_ring(http::Exposition& out, const SharedState& shared);

void describe_ring(http::MetricDescriptions& out);

}  // namespace prophecy::sketcher
