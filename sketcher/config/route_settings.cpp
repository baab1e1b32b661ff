#include "sketcher/config/route_settings.hpp"

#include <algorithm>
#include <cctype>

#include "sketcher/config/rule_settings.hpp"
#include "sketcher/config/setting_name.hpp"
#include "sketcher/core/policy/upgrade.hpp"

namespace prophecy::sketcher {
namespace {

const std::vector<std::string> kModes = {"enforce", "observe",     "off",
                                         "tunnel",  "maintenance", "stream"};
static_assert(kRouteModeCount == 6);
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
  const bool is_clear = groups.size() <= 1;  // that there is none is a mistake already
  const std::string name =
      section.text(Key{"group", "Name of a group."}.otherwise("the only one"),
                   is_clear ? std::optional<std::string>(groups.empty() ? "" : groups.front().name)
                            : std::nullopt);
  const auto found = std::find_if(groups.begin(), groups.end(),
                                  [&](const GroupSettings& group) { return group.name == name; });
  if (found != groups.end()) return static_cast<std::uint32_t>(found - groups.begin());
  if (!groups.empty()) section.mistake("group", "expected the name of a [[group]]");
  return 0;
}

void read_pattern(ConfigSection& section, RoutePattern& pattern) {
  pattern.hosts = section.texts({"hosts",
                                 "List of names of at most 255 characters, with or without a port; "
                                 "`*.example.org` stands for all names below it."},
                                std::vector<std::string>{});
  for (std::string& host : pattern.hosts) {
    const std::string written = host;
    std::transform(host.begin(), host.end(), host.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (!is_host_pattern(host)) {
      section.mistake("hosts", written,
                      "expected names such as \"www.example.org\", \"*.example.org\", "
                      "\"www.example.org:8080\"");
    }
  }
  pattern.path_prefix = section.text(
      {"path_prefix",
       "`/a` takes `/a` and `/a/b`, not `/ab`. At most 1024 visible characters of ASCII, without "
       "`?`, `#`, `%`, `;`, `\\`, empty segments, and segments `.` and `..`."},
      "/");
  if (!is_path_prefix(pattern.path_prefix)) {
    section.mistake("path_prefix", "expected a path from / on, " + kPathRule);
  }
}

// A list of paths that the route takes.
std::vector<std::string> read_paths(ConfigSection& section, const Key& key,
                                    const RoutePattern& pattern) {
  std::vector<std::string> paths = section.texts(key, std::vector<std::string>{});
  for (const std::string& path : paths) {
    if (!is_path_prefix(path) || !takes(pattern.path_prefix, path)) {
      section.mistake(key.name, path, "expected paths in the route's path_prefix, " + kPathRule);
    }
    if (std::count(paths.begin(), paths.end(), path) > 1)
      section.mistake(key.name, "expected each path once, found \"" + path + "\" again");
  }
  if (paths.size() > kListedPathsMax) {
    section.mistake(key.name, "expected at most " + std::to_string(kListedPathsMax) + " paths");
  }
  return paths;
}

void read_lists(ConfigSection& section, RoutePattern& pattern) {
  pattern.whitelist = read_paths(
      section,
      {"whitelist",
       "List of at most 1024 paths in `path_prefix`, each with all paths below it: their reads get "
       "the drawn replica's answer, unverified. `--check` and the log warn of them."},
      pattern);
  pattern.blacklist = read_paths(
      section,
      {"blacklist",
       "Likewise: the group answers their reads each time, and they share no answer; with a group "
       "of kind `\"vote\"` the warning of `reads` applies. The longest path of both lists decides. "
       "A path in both is an error, as is one that belongs to another route. A path with several "
       "readings is blacklisted if any of them is, and never whitelisted."},
      pattern);
  for (const std::string& path : pattern.whitelist) {
    if (std::find(pattern.blacklist.begin(), pattern.blacklist.end(), path) ==
        pattern.blacklist.end())
      continue;
    section.mistake("blacklist", path, "expected no path of the whitelist");
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
      section.mistake(key, path, "expected no path that route \"" + other.name + "\" takes");
    }
  }
}

void read_upgrades(ConfigSection& section, RouteSettings& route) {
  route.upgrades = section.texts(
      {"upgrades",
       "List of the protocols, at most 16, that a tunnel may change to, each as a name, for any "
       "version of it, or as `name/version`; upper and lower case are the same. The replica gets "
       "the first protocol of the client's `Upgrade` field that is in the list, and no other. A "
       "request that names none of them is answered as one without `Upgrade`. `h2c`, `http/2.0`, "
       "`TLS/1.0` and the like are an error: requests inside them would reach any path of an "
       "origin, past the rules of all routes."},
      route.upgrades);
  if (route.upgrades.size() > kUpgradesMax) {
    section.mistake("upgrades", "expected at most " + std::to_string(kUpgradesMax) + " protocols");
  }
  for (const std::string& protocol : route.upgrades) {
    if (!is_protocol(protocol)) {
      section.mistake("upgrades", protocol,
                      "expected names of protocols such as \"websocket\" or \"name/1.0\"");
    } else if (may_never_pass(protocol)) {
      section.mistake("upgrades", protocol,
                      "expected no \"" + protocol +
                          "\": requests inside it would reach any path of an origin, "
                          "past the rules of all routes");
    }
  }
}

VolatilityLimits read_volatility(ConfigSection& section, const RouteSettings& route,
                                 const std::vector<GroupSettings>& groups) {
  const bool is_on =
      section.flag({"automatic_blacklist",
                    "A request goes to the group at once when the group's answer to most of the "
                    "last reads, 16 at least, differed from the history's entry. It is compared "
                    "all the same, and has fast reads again when it changes less often."},
                   true);
  const std::size_t origins =
      route.group < groups.size() ? groups[route.group].origins.size() : std::size_t{0};
  const auto from =
      VolatilityLimits::of_group(std::max<std::uint32_t>(2, static_cast<std::uint32_t>(origins)));
  const auto wanted = static_cast<float>(
      section.fraction(Key{"automatic_blacklist_from", "The share of reads that makes it go there."}
                           .otherwise("1 - 1/n, of n origins")
                           .within("0.1 to 1.0"),
                       from.from));
  if (wanted < kVolatilityMin) {
    section.mistake("automatic_blacklist_from", "expected a share from 0.1 to 1.0");
  }
  return is_on ? VolatilityLimits{wanted} : VolatilityLimits::never();
}

RouteSettings read_route(ConfigSection& section, const std::vector<RouteSettings>& before,
                         bool is_only_one, std::vector<GroupSettings>& groups) {
  RouteSettings route;
  route.name = read_setting_name(section, "1 to 64 of a-z, 0-9, \"-\", \"_\" and \".\".", before,
                                 is_only_one);
  read_pattern(section, route.pattern);
  route.group = read_group_name(section, groups);
  route.mode = static_cast<RouteMode>(section.choice(
      {"mode",
       "`\"enforce\"`: clients get verified answers only. `\"observe\"`: a read gets the drawn "
       "replica's answer, unverified; the group is asked all the same when that differs from the "
       "history, and a refuted answer is recorded. Use it as the first step of an introduction. "
       "`\"off\"`: a read gets the answer of one replica, and nothing is compared: a load "
       "balancer. `\"tunnel\"`: as off; and a GET of HTTP/1.1 with an `Upgrade` to a protocol of "
       "`upgrades` goes to one replica with all its fields. Once that has switched, bytes pass "
       "both ways unseen. No other route forwards such a request. Not for a group with "
       "`send_proxy` or with TLS to its origins: a tunnel has neither. `\"maintenance\"`: every "
       "request is answered 503 (`maintenance`). `\"stream\"`: as off, for answers that may have "
       "no "
       "end, such as Server-Sent Events and long polls. A GET's answer is passed on as it comes, "
       "unverified, over HTTP/1 and HTTP/2; `stream` in `[timeouts]` is all that ends it. It is an "
       "error with `reads` other than `\"delay-once\"`, and with a `blacklist`, which demand "
       "verification. In all other modes writes go to the group. "
       "`prophecyctl route` and `prophecyctl bypass` change it while the sketcher "
       "runs, and `state_file` keeps the change."},
      kModes, 0));
  if (route.mode == RouteMode::tunnel && route.group < groups.size() &&
      !may_be_tunnelled(groups[route.group])) {
    section.mistake("mode",
                    "expected no \"tunnel\" to a group with send_proxy or TLS to its origins");
  }
  read_upgrades(section, route);
  route.reads = static_cast<Reads>(section.choice(
      {"reads",
       "The answer to a read in mode `\"enforce\"`. `\"delay-once\"`: from one replica if its "
       "answer matches the history; `\"replicated\"`: the group orders every read, which is thus "
       "linearizable. A group of kind `\"vote\"` has no order, and while content changes at one "
       "origin after the other its answers may go back and forth: `--check` and the log warn of "
       "that. `\"read-only\"`: by PBFT's read optimisation, without a history; not for a group of "
       "kind `\"vote\"`."},
      kReads, 0));
  route.needs_client_certificate =
      section.choice({"client_certificate",
                      "`\"required\"`: a request is answered 403 unless the client presented a "
                      "certificate on its connection; see `[listener.tls]`."},
                     {"off", "required"}, 0) == 1;
  route.dropped = sketch::DroppedFields::from_config(
      section,
      {"dropped_request_headers",
       "Names of fields that are dropped from the route's reads, writes and requests that open a "
       "tunnel: they are neither part of the sketch nor forwarded. A name covers its spellings "
       "with `_` for `-`, which are one field to a CGI program. Use it for paths whose answers are "
       "the same for all clients (`cookie`, `accept-language` of static files), so that all "
       "visitors share one entry of the history. Use it for fields that an origin trusts and no "
       "client may send (`x-remote-user`, `x-original-url`, `true-client-ip`). It is an error to "
       "name fields that the sketcher writes or that belong to the connection (`host`, `via`, "
       "`x-forwarded-*`, `transfer-encoding`); conditions and ranges (`if-*`, `if`, `range`), "
       "since a write without its condition may overwrite another one; `content-*`, which describe "
       "a body; and the arguments of WebDAV's methods (`depth`, `destination`, `lock-token`, "
       "`overwrite`). An origin that checks `origin` or `referer` of writes against forgery of "
       "requests across sites cannot do so without them. At most 256."});
  route.hedge =
      section.flag({"hedge",
                    "Whether a fast read may go to a second replica, when the first takes longer "
                    "than 98 of 100 recent reads did at the f+1 quickest origins. The first answer "
                    "decides. At most 5 of 100 reads are hedged."},
                   true);
  route.write_invalidation = section.flag(
      {"write_invalidation",
       "Whether a successful write (an unsafe method, a status 2xx or 3xx) invalidates the "
       "history's entries of its URI, and of those in `Location` and `Content-Location` of its "
       "answer at the same scheme and authority: the next read of each asks the group, and no read "
       "after the write is older than it. Whitelisted requests are not affected."},
      true);
  read_rules(section, route);
  read_lists(section, route.pattern);
  const bool demands_group = route.reads != Reads::delay_once || !route.pattern.blacklist.empty();
  if (route.mode == RouteMode::stream && demands_group) {
    section.mistake("mode",
                    "expected no \"stream\" where the group is to answer reads (reads, "
                    "blacklist): nothing of a stream is verified");
  }
  route.volatility = read_volatility(section, route, groups);
  route.slow_path.share = section.fraction(
      {"slow_path_share",
       "Share of this route's reads that may ask the group, for each worker; 1.0 is no bound. A "
       "read beyond it is answered 503 (`slow-path-budget`). A read that joins an equal one under "
       "way, or that asks again because of a write, does not count."},
      1.0);
  route.slow_path.per_second = static_cast<double>(section.number(
      {"slow_path_per_second",
       "With a `slow_path_share` below 1.0: reads a second that may ask on top of it, which fills "
       "an empty history. Unused ones are saved up, to 100 reads at most."},
      0, kSlowPathRateMax, 100));
  route.slow_path.per_client_second = static_cast<double>(section.number(
      {"slow_path_per_client_second",
       "Reads of one client a second that may ask the group, for each worker; 0 is no bound. "
       "Unused ones are saved up, for ten seconds, and to 20 reads at least. A client is an "
       "address of IPv4, or a network of IPv6 (`ipv6_prefix`); behind a load balancer among "
       "`trusted_peers` it is the forwarded one. Set 0 where all clients have the address of a "
       "load balancer that forwards none. Clients are hashed into 4096 slots; the clients of one "
       "slot share a budget."},
      0, kSlowPathRateMax, static_cast<std::uint64_t>(SlowPathLimits{}.per_client_second)));
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

// Whether what it reads as is what is meant.
bool has_pattern(const ConfigSection& section) {
  return !section.is_wrong("hosts") && !section.is_wrong("path_prefix");
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
  std::vector<ConfigSection> sections = root.sections(
      {"route",
       "Maps requests to groups, and sets how they are answered. Without any, all go to the only "
       "group. A request's host decides first: the most specific of `hosts` that has a route for "
       "the path (the name with its port, the name, wildcards from the longest, routes without "
       "hosts). Then the longest `path_prefix` does. A request is answered 421 if no route has its "
       "host, 404 if none has its path, and 400 if its path has another reading (percent-encoding, "
       "once or twice, `..`, empty segments, `;`, `\\`) that leads to another route. Where routes "
       "have prefixes or lists, a path with more than 32 KiB of such readings is answered 414. "
       "Routes do not guard against other readings: letters of another case, NUL bytes and dots at "
       "a segment's end, `%uXXXX` and overlong UTF-8. An origin that reads them as a path of "
       "another route has to reject them itself."});
  for (ConfigSection& section : sections) {
    RouteSettings route = read_route(section, routes, sections.size() == 1, groups);
    for (std::size_t i = 0; i < routes.size() && has_pattern(section); ++i) {
      const RouteSettings& other = routes[i];
      if (!has_pattern(sections[i]) || !overlaps(other.pattern, route.pattern)) continue;
      section.mistake("path_prefix", "expected a host or a path that route \"" + other.name +
                                         "\" does not have as well");
    }
    routes.push_back(std::move(route));
  }
  for (std::size_t i = 0; i < sections.size(); ++i) {
    for (const RouteSettings& other : routes)
      check_lists(sections[i], routes[i], other);
  }
  check_redirects(sections, routes);
  if (routes.empty()) {
    RouteSettings everything;
    if (!groups.empty()) {
      everything.volatility = VolatilityLimits::of_group(
          std::max<std::uint32_t>(2, static_cast<std::uint32_t>(groups.front().origins.size())));
    }
    everything.name = "default";
    routes.push_back(std::move(everything));
    if (groups.size() > 1) root.mistake("route", "expected one [[route]] for each group");
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
