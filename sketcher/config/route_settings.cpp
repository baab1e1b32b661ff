#include "sketcher/config/route_settings.hpp"

#include <algorithm>
#include <cctype>

#include "sketcher/config/setting_name.hpp"
#include "sketcher/core/policy/upgrade.hpp"

namespace prophecy::sketcher {
namespace {

const std::vector<std::string> kModes = {"enforce", "observe", "off", "tunnel"};
static_assert(kRouteModeCount == 4);
constexpr std::size_t kListedPathsMax = 1024;  // of a list
constexpr std::size_t kUpgradesMax = 16;
constexpr float kVolatilityMin = 0.1F;
constexpr std::uint64_t kSlowPathRateMax = 1'000'000;
// is_path_prefix()
const std::string kPathRule =
    R"(of at most 1024 visible letters of ASCII, without "?", "#", "%", ";", "\" and "//", )"
    R"(and without segments "." and "..")";
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
    section.mistake("path_prefix", "expected a path from / on, " + kPathRule);
  }
}

// A list of paths that the route takes.
std::vector<std::string> read_paths(ConfigSection& section, const char* key,
                                    const RoutePattern& pattern) {
  std::vector<std::string> paths = section.texts(key, std::vector<std::string>{});
  for (const std::string& path : paths) {
    if (!is_path_prefix(path) || !takes(pattern.path_prefix, path)) {
      section.mistake(key, std::string("expected paths in the route's path_prefix, ")
                               .append(kPathRule)
                               .append("; not \"")
                               .append(path)
                               .append("\""));
    }
    if (std::count(paths.begin(), paths.end(), path) > 1)
      section.mistake(key, "expected each path once, and \"" + path + "\" is there again");
  }
  if (paths.size() > kListedPathsMax) {
    section.mistake(key, "expected at most " + std::to_string(kListedPathsMax) + " paths");
  }
  return paths;
}

void read_lists(ConfigSection& section, RoutePattern& pattern) {
  pattern.whitelist = read_paths(section, "whitelist", pattern);
  pattern.blacklist = read_paths(section, "blacklist", pattern);
  for (const std::string& path : pattern.whitelist) {
    if (std::find(pattern.blacklist.begin(), pattern.blacklist.end(), path) ==
        pattern.blacklist.end())
      continue;
    section.mistake("blacklist", "expected no path of the whitelist, and \"" + path + "\" is one");
  }
}

// A longer route's paths are not its own to list.
void check_lists(ConfigSection& section, const RouteSettings& route, const RouteSettings& other) {
  const RoutePattern& pattern = route.pattern;
  const RoutePattern& taker = other.pattern;
  if (taker.path_prefix.size() <= pattern.path_prefix.size() || !share_host(pattern, taker)) return;
  for (const auto& [key, paths] :
       {std::pair("whitelist", &pattern.whitelist), std::pair("blacklist", &pattern.blacklist)}) {
    for (const std::string& path : *paths) {
      if (!takes(taker.path_prefix, path)) continue;
      section.mistake(key, "expected no path that route \"" + other.name + "\" takes, such as \"" +
                               path + "\"");
    }
  }
}

void read_upgrades(ConfigSection& section, RouteSettings& route) {
  route.upgrades = section.texts("upgrades", route.upgrades);
  if (route.upgrades.size() > kUpgradesMax) {
    section.mistake("upgrades", "expected at most " + std::to_string(kUpgradesMax) + " protocols");
  }
  for (const std::string& protocol : route.upgrades) {
    if (!is_protocol(protocol)) {
      section.mistake("upgrades",
                      "expected names of protocols such as \"websocket\" or \"name/1.0\", not \"" +
                          protocol + "\"");
    } else if (may_never_pass(protocol)) {
      section.mistake("upgrades", "expected no \"" + protocol +
                                      "\": requests inside it would reach any path of an origin, "
                                      "past the rules of all routes");
    }
  }
}

VolatilityLimits read_volatility(ConfigSection& section, const RouteSettings& route,
                                 const std::vector<GroupSettings>& groups) {
  const bool is_on = section.flag("automatic_blacklist", true);
  const std::size_t origins =
      route.group < groups.size() ? groups[route.group].origins.size() : std::size_t{0};
  const auto from =
      VolatilityLimits::of_group(std::max<std::uint32_t>(2, static_cast<std::uint32_t>(origins)));
  const auto wanted = static_cast<float>(section.fraction("automatic_blacklist_from", from.from));
  if (wanted < kVolatilityMin) {
    section.mistake("automatic_blacklist_from", "expected a share from 0.1 to 1.0");
  }
  return is_on ? VolatilityLimits{wanted} : VolatilityLimits::never();
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
  read_upgrades(section, route);
  route.reads = static_cast<Reads>(section.choice("reads", kReads, 0));
  route.needs_client_certificate =
      section.choice("client_certificate", {"off", "required"}, 0) == 1;
  route.dropped = sketch::DroppedFields::from_config(section, "dropped_request_headers");
  route.hedge = section.flag("hedge", true);
  route.write_invalidation = section.flag("write_invalidation", true);
  read_lists(section, route.pattern);
  route.volatility = read_volatility(section, route, groups);
  route.slow_path.share = section.fraction("slow_path_share", 1.0);
  route.slow_path.per_second =
      static_cast<double>(section.number("slow_path_per_second", 0, kSlowPathRateMax, 100));
  route.slow_path.per_client_second = static_cast<double>(
      section.number("slow_path_per_client_second", 0, kSlowPathRateMax,
                     static_cast<std::uint64_t>(SlowPathLimits{}.per_client_second)));
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

std::string listed(const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths)
    text += " " + path;
  return text;
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
  for (std::size_t i = 0; i < sections.size(); ++i) {
    for (const RouteSettings& other : routes)
      check_lists(sections[i], routes[i], other);
  }
  if (routes.empty()) {
    RouteSettings everything;
    if (!groups.empty()) {
      everything.volatility = VolatilityLimits::of_group(
          std::max<std::uint32_t>(2, static_cast<std::uint32_t>(groups.front().origins.size())));
    }
    everything.name = "default";
    routes.push_back(std::move(everything));
    if (groups.size() > 1) root.mistake("route", "missing; expected one for each group");
  }
  if (routes.size() > kRoutesMax) {
    root.mistake("route", "expected at most " + std::to_string(kRoutesMax) + " of them");
  }
  return routes;
}

Router make_router(const std::vector<RouteSettings>& routes) {
  std::vector<RoutePattern> patterns;
  patterns.reserve(routes.size());
  for (const RouteSettings& route : routes)
    patterns.push_back(route.pattern);
  return Router(patterns);
}

std::vector<RouteWarning> warnings_about(const std::vector<RouteSettings>& routes,
                                         const std::vector<GroupSettings>& groups) {
  std::vector<RouteWarning> warnings;
  for (const RouteSettings& route : routes) {
    const RoutePattern& pattern = route.pattern;
    const std::string name = "route \"" + route.name + "\": ";
    if (!pattern.whitelist.empty()) {
      warnings.push_back(
          {"unverified-by-configuration",
           name + "one origin's answers are not verified under" + listed(pattern.whitelist)});
    }
    if (groups[route.group].kind != GroupKind::vote) continue;
    const bool all = route.reads == Reads::replicated;
    if (!all && pattern.blacklist.empty()) continue;
    warnings.push_back(
        {"unordered-by-configuration",
         name + "votes have no order: reads are not linearizable while content changes at one " +
             "origin after the other, under" +
             (all ? " " + pattern.path_prefix : listed(pattern.blacklist))});
  }
  return warnings;
}

}  // namespace prophecy::sketcher
