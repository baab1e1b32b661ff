// What operators say about one origin, as a setting: a name and a value, which a ring of sketchers
// can agree on.
//
// "origin/GROUP/REPLICA" is "STATE REASON", or "STATE:SECONDS REASON" for a drain with a time;
// "weight/GROUP/REPLICA" is a number. An empty value is what the configuration says.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "sketcher/config/settings.hpp"
#include "sketcher/health/monitor.hpp"

namespace prophecy::sketcher {

struct OriginSetting {
  std::string name;
  std::string value;
};

[[nodiscard]] bool takes_origin_change(std::string_view command);
[[nodiscard]] bool is_origin_setting(std::string_view name);

// What a request on the admin socket asks for, which somebody else has written. Whether there is
// such an origin, set_origin() says.
[[nodiscard]] Result<OriginSetting> read_origin_setting(const Settings& settings,
                                                        std::string_view command,
                                                        const nlohmann::json& request);

// Carries it out. The error says what is wrong with it.
[[nodiscard]] Result<> set_origin(HealthMonitor& health, const Settings& settings,
                                  const OriginSetting& setting);

}  // namespace prophecy::sketcher
