// [[route]]: which requests go to which group, and how they are answered there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "sketcher/core/router.hpp"
#include "sketcher/core/slow_path_budget.hpp"
#include "sketcher/core/volatility.hpp"
#include "sketcher/group_settings.hpp"

namespace prophecy::sketcher {

constexpr std::size_t kRoutesMax = 1024;

// May be changed at run time.
enum class RouteMode : std::uint8_t {
  enforce,  // clients get nothing but verified answers
  observe,  // clients get the drawn replica's answer; what the group's agreement refutes is
            // recorded
  off,      // clients get the drawn replica's answer: a load balancer
  tunnel,   // as off; and requests to change the protocol are tunnelled
};
constexpr std::size_t kRouteModeCount = 4;
[[nodiscard]] std::string_view to_string(RouteMode mode);
[[nodiscard]] std::optional<RouteMode> parse_route_mode(std::string_view text);

// How reads are answered where they are enforced. The paper's evaluation compares the three.
enum class Reads : std::uint8_t {
  delay_once,  // Algorithm 1; delay-once consistency
  replicated,  // every read ordered; linearizable where the group has an order
  read_only,   // by PBFT's read-only optimisation; linearizable
};
[[nodiscard]] std::string_view to_string(Reads reads);

struct RouteSettings {
  std::string name;
  RoutePattern pattern;
  std::uint32_t group = 0;  // its position
  RouteMode mode = RouteMode::enforce;
  Reads reads = Reads::delay_once;
  bool needs_client_certificate = false;
  SlowPathLimits slow_path;  // for each worker
  VolatilityLimits volatility;
  bool hedge = false;              // fast reads may be asked of a second replica
  bool write_invalidation = true;  // after a write, reads of its URI ask the group
};

// Without any [[route]], everything goes to the only group. Notes in `groups` what their routes ask
// of them.
[[nodiscard]] std::vector<RouteSettings> read_routes(ConfigSection root,
                                                     std::vector<GroupSettings>& groups);

[[nodiscard]] Router make_router(const std::vector<RouteSettings>& routes);
// What operators ought to know of a route that is in order.
struct RouteWarning {
  std::string_view event;  // as the log names it
  std::string text;        // one line
};
[[nodiscard]] std::vector<RouteWarning> warnings_about(const std::vector<RouteSettings>& routes,
                                                       const std::vector<GroupSettings>& groups);

}  // namespace prophecy::sketcher
