#include "sketcher/route_settings.hpp"

#include <algorithm>
#include <cctype>

#include "sketcher/setting_name.hpp"

namespace prophecy::sketcher {
namespace {

const std::vector<std::string> kModes = {"enforce", "observe", "off", "tunnel"};
static_assert(kRouteModeCount == 4);
constexpr std::uint64_t kSlowPathRateMax = 1'000'000;
const std::vector<std::string> kReads = {"delay-once", "replicated", "read-only"};

std::uint32_t read_group_name(ConfigSection& section, const std::vector<GroupSettings>& groups) {
  const bool is_clear = groups.size() == 1;
  const std::string name = section.text(
      "group", is_clear ? std::optional<std::string>(groups.front().name) : std::nullopt);
  const auto found = std::find_if(groups.begin(), groups.end(),
                                  [&](const GroupSettings& group) { return group.name == name; });
  if (found != groups.end()) return static_cast<std::uint32_t>(found - groups.begin());
  if (!groups.empty()) section.mistake("group", "expected the name of a [[group]]");
  return 0;
}

void read_pattern(ConfigSection& section, RoutePattern& pattern) {
  pattern.hosts = section.texts("hosts", std::vector<std::string>{});
  for (std::string& host : pattern.hosts) {
    std::transform(host.begin(), host.end(), host.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (!is_host_pattern(host)) {
      section.mistake("hosts",
                      "expected names such as \"www.example.org\", \"*.example.org\", "
                      "\"www.example.org:8080\"");
    }
  }
  pattern.path_prefix = section.text("path_prefix", "/");
  if (!is_path_prefix(pattern.path_prefix)) {
    section.mistake("path_prefix",
                    "expected a path from / on, without query, \"%\", \"//\", \"/./\", \"/../\"");
  }
}

RouteSettings read_route(ConfigSection& section, const std::vector<RouteSettings>& before,
                         bool is_only_one, std::vector<GroupSettings>& groups) {
  RouteSettings route;
  route.name = read_setting_name(section, before, is_only_one);
  read_pattern(section, route.pattern);
  route.group = read_group_name(section, groups);
  route.mode = static_cast<RouteMode>(section.choice("mode", kModes, 0));
  if (route.mode == RouteMode::tunnel && route.group < groups.size() &&
      !may_be_tunnelled(groups[route.group])) {
    section.mistake("mode",
                    "expected no \"tunnel\" to a group with send_proxy or TLS to its origins");
  }
  route.reads = static_cast<Reads>(section.choice("reads", kReads, 0));
  route.needs_client_certificate =
      section.choice("client_certificate", {"off", "required"}, 0) == 1;
  route.hedge = section.flag("hedge", false);
  route.write_invalidation = section.flag("write_invalidation", true);
  route.slow_path.share = section.fraction("slow_path_share", 1.0);
  route.slow_path.per_second =
      static_cast<double>(section.number("slow_path_per_second", 0, kSlowPathRateMax, 100));
  route.slow_path.per_client_second =
      static_cast<double>(section.number("slow_path_per_client_second", 0, kSlowPathRateMax, 0));
  if (route.reads == Reads::read_only && route.group < groups.size()) {
    GroupSettings& group = groups[route.group];
    if (group.kind == GroupKind::vote) {
      section.mistake("reads",
                      "expected \"delay-once\" or \"replicated\" with a group of kind vote");
    }
    group.linearizable_reads = true;
  }
  return route;
}

}  // namespace

std::string_view to_string(RouteMode mode) {
  return kModes[static_cast<std::size_t>(mode)];
}

std::optional<RouteMode> parse_route_mode(std::string_view text) {
  const auto found = std::find(kModes.begin(), kModes.end(), text);
  if (found == kModes.end()) return std::nullopt;
  return static_cast<RouteMode>(found - kModes.begin());
}

std::string_view to_string(Reads reads) {
  return kReads[static_cast<std::size_t>(reads)];
}

std::vector<RouteSettings> read_routes(ConfigSection root, std::vector<GroupSettings>& groups) {
  std::vector<RouteSettings> routes;
  std::vector<ConfigSection> sections = root.sections("route");
  for (ConfigSection& section : sections) {
    RouteSettings route = read_route(section, routes, sections.size() == 1, groups);
    for (const RouteSettings& other : routes) {
      if (!overlaps(other.pattern, route.pattern)) continue;
      section.mistake("path_prefix", "expected a host or a path that route \"" + other.name +
                                         "\" does not have as well");
    }
    routes.push_back(std::move(route));
  }
  if (routes.empty()) {
    RouteSettings everything;
    everything.name = "default";
    routes.push_back(std::move(everything));
    if (groups.size() > 1) root.mistake("route", "missing; expected one for each group");
  }
  if (routes.size() > kRoutesMax) {
    root.mistake("route", "expected at most " + std::to_string(kRoutesMax) + " of them");
  }
  return routes;
}

}  // namespace prophecy::sketcher
