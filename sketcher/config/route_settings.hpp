// [[route]]: which requests go to which group, and how they are answered there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/config.hpp"
#include "canonical/dropped_fields.hpp"
#include "canonical/set_fields.hpp"
#include "sketcher/answer/answer_rules.hpp"
#include "sketcher/config/group_settings.hpp"
#include "sketcher/core/admission/client_limit.hpp"
#include "sketcher/core/policy/redirect.hpp"
#include "sketcher/core/policy/route_mode.hpp"
#include "sketcher/core/policy/router.hpp"
#include "sketcher/core/policy/slow_path_budget.hpp"
#include "sketcher/core/policy/volatility.hpp"

namespace prophecy::sketcher {

constexpr std::size_t kRoutesMax = 1024;

[[nodiscard]] std::string_view to_string(RouteMode mode);
[[nodiscard]] std::optional<RouteMode> parse_route_mode(std::string_view text);

[[nodiscard]] std::string_view to_string(Reads reads);

struct RouteSettings {
  std::string name;
  RoutePattern pattern;
  std::uint32_t group = 0;  // its position
  RouteMode mode = RouteMode::enforce;
  Reads reads = Reads::delay_once;
  // Protocols that a tunnel may change to; each passes is_protocol(), and not may_never_pass().
  std::vector<std::string> upgrades{"websocket"};
  bool needs_client_certificate = false;
  sketch::DroppedFields dropped;  // taken out of its requests
  sketch::SetFields set;          // set in them
  AnswerRules answer_rules;
  std::optional<Redirect> redirect;
  std::optional<ClientLimitSettings> client_limit;
  std::uint32_t maintenance_retry_after_s = 60;
  SlowPathLimits slow_path;  // for each worker
  VolatilityLimits volatility;
  bool hedge = true;               // fast reads may be asked of a second replica
  bool write_invalidation = true;  // after a write, reads of its URI ask the group

  [[nodiscard]] bool has_rules() const { return redirect || client_limit || !answer_rules.empty(); }
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
