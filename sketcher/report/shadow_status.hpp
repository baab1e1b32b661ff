// A group's shadows, as operators are told of them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "http/metrics/exposition.hpp"
#include "http/metrics/metric_descriptions.hpp"
#include "sketcher/config/group_settings.hpp"
#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

// At the end of a list.
void add_shadows(nlohmann::ordered_json& list, const GroupSettings& group,
                 const SharedState& shared);
void add_shadows(http::Exposition& out, const GroupSettings& group, const SharedState& shared);

void describe_shadows(http::MetricDescriptions& out);

}  // namespace prophecy::sketcher
