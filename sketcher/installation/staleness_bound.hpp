// What a group's health is judged by, and the bound on stale reads that follows from it
// (docs/consistency.md).
#pragma once

#include <string>
#include <vector>

#include "replica_client/core/health/rules.hpp"
#include "sketcher/installation/installation.hpp"

namespace prophecy::sketcher {

// Those of the settings, with what the group's members say.
[[nodiscard]] replica_client::HealthRules health_rules(const GroupSettings& group,
                                                       const GroupInstallation& installation);

// For each group a line for operators: g by the configured weights, with all origins in the draw,
// and at worst.
[[nodiscard]] std::vector<std::string> staleness_bounds(const Installation& installation);

}  // namespace prophecy::sketcher
