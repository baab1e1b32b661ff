// Chooses a request's route, by its host and then by its path.
//
// Of the hosts, the most specific one that has a route for the path: the name itself (with its
// port, then without), then wildcards from the longest, then routes without hosts. Of one host's
// routes, the longest prefix; a prefix ends at a segment's end: /a takes /a and /a/b, not /ab.
//
// A route may list paths in it that are whitelisted or blacklisted: Algorithm 1's b, for all below.
// Of a route's lists, too, the longest prefix decides.
//
// A path may be spelled so that one origin takes it for another path than its letters say
// (/a/../b, /%61, /%2561, /a/..;x/b, /a\b: path_readings.hpp). If the route depends on that, the
// request is refused: a rule about /b must not be passed by another spelling of it. Such a path is
// blacklisted if any reading of it is, and never whitelisted.
//
// Immutable once made.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "history_table/history_entry.hpp"

namespace prophecy::sketcher {

struct RoutePattern {
  std::vector<std::string> hosts;  // lower case; "*." in front: all below; empty: any
  std::string path_prefix = "/";
  // Below it, and not where another route takes them.
  std::vector<std::string> whitelist{};
  std::vector<std::string> blacklist{};
};

[[nodiscard]] bool is_host_pattern(std::string_view text);
[[nodiscard]] bool is_path_prefix(std::string_view text);
// Whether a prefix takes this path, or all that another prefix takes.
[[nodiscard]] bool takes(std::string_view prefix, std::string_view path);
// Whether some host has both routes.
[[nodiscard]] bool share_host(const RoutePattern& one, const RoutePattern& other);
// Whether its hosts and its prefix take this request, whatever other routes take.
[[nodiscard]] bool takes(const RoutePattern& pattern, std::string_view authority,
                         std::string_view target);
// Whether one request could be both's, with nothing to choose by.
[[nodiscard]] bool overlaps(const RoutePattern& one, const RoutePattern& other);

class Router {
 public:
  explicit Router(const std::vector<RoutePattern>& routes);

  enum class Miss : std::uint8_t {
    unknown_host,
    unknown_path,
    ambiguous_path,
    long_path,  // with more readings than are looked at
  };
  struct Choice {
    std::optional<std::uint32_t> route;
    Miss miss = Miss::unknown_host;  // without a route
    Mark mark = Mark::none;          // by the route's lists
  };

  // `authority` is normalised (http/authority.hpp), `target` in origin form or "*".
  [[nodiscard]] Choice choose(std::string_view authority, std::string_view target) const;

 private:
  struct Prefix {
    std::string path;
    std::uint32_t route = 0;
    Mark mark = Mark::none;
  };
  using Prefixes = std::vector<Prefix>;  // longest first
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  // Null: none has it.
  [[nodiscard]] const Prefix* find(std::string_view authority, std::string_view path,
                                   bool& host_known) const;
  // Of a path that is not plain. `found` is what its letters say.
  [[nodiscard]] Choice choose_of_readings(std::string_view authority, std::string_view path,
                                          const Prefix* found) const;
  [[nodiscard]] const Prefixes* of_host(std::string_view pattern) const;

  std::unordered_map<std::string, Prefixes, Hash, std::equal_to<>> by_host_;  // "" for any
  bool has_prefixes_ = false;  // a route is chosen by its path
};

}  // namespace prophecy::sketcher
