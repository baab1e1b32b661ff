// What operators say about origins on the admin socket, as one change of one origin.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "sketcher/health/monitor.hpp"

namespace prophecy::sketcher {

[[nodiscard]] bool takes_origin_change(std::string_view command);

// The answer: {} or {"error": TEXT}; with a weight {"staleness_share": G}, by which the group's
// reads may be stale from now on.
[[nodiscard]] std::string change_origin(HealthMonitor& health, std::string_view command,
                                        const nlohmann::json& request);

}  // namespace prophecy::sketcher
