// How a group's origins are connected to, by workers and by the checker.
#pragma once

#include <vector>

#include "http/client/origin_pool.hpp"
#include "sketcher/installation/installation.hpp"

namespace prophecy::sketcher {

// In the order of the replicas. The group has to outlive what is made of them.
[[nodiscard]] std::vector<http::OriginSettings> origin_settings(
    const Settings& settings, const GroupSettings& group, const GroupInstallation& installation);
// Likewise, its shadows.
[[nodiscard]] std::vector<http::OriginSettings> shadow_settings(
    const Settings& settings, const GroupSettings& group, const GroupInstallation& installation);

}  // namespace prophecy::sketcher
