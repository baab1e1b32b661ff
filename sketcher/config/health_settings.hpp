// [group.health]: how the origins of a group are checked, and what takes one out of the draw.
#pragma once

#include <string>

#include "base/config/config.hpp"
#include "replica_client/core/health/check_rule.hpp"
#include "replica_client/core/health/rules.hpp"

namespace prophecy::sketcher {

struct CheckSettings {
  std::string method = "GET";
  std::string path;
  std::string host;  // empty: the origin's address
  replica_client::CheckRule rule;
  Duration interval{};  // between two checks of one origin, give or take a tenth
  Duration timeout{};
};

struct HealthSettings {
  CheckSettings check;  // where rules.checked
  // drawable_min is what the configuration asks for; f+1 is not known yet.
  replica_client::HealthRules rules;
};

[[nodiscard]] HealthSettings read_health(ConfigSection section);

}  // namespace prophecy::sketcher
