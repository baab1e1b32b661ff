// The rules of a [[route]]: where its requests are redirected, what is set in them, and what is
// changed in their answers.
#pragma once

#include <vector>

#include "base/config/config.hpp"
#include "sketcher/config/route_settings.hpp"

namespace prophecy::sketcher {

// Requires that the route's pattern is read.
void read_rules(ConfigSection& section, RouteSettings& route);

// Notes redirects that would never end. `sections` are those of the routes.
void check_redirects(std::vector<ConfigSection>& sections,
                     const std::vector<RouteSettings>& routes);

}  // namespace prophecy::sketcher
