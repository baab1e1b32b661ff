// `Redirect` sends the clients of a route elsewhere: to another scheme, host or path prefix. A
// request that is there already is answered as any other.
//
// Pure functions of the request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sketcher/core/policy/router.hpp"

namespace prophecy::sketcher {

struct Redirect {
  std::uint16_t status = 308;
  // Empty, or nothing: that of the request stays.
  std::string scheme;
  std::string authority;                   // in its one form
  std::optional<std::string> path_prefix;  // in place of the route's
};

// A request's address, in the forms that RequestForm has.
struct RedirectedTo {
  std::string scheme;
  std::string authority;
  std::string target;

  [[nodiscard]] std::string url() const { return scheme + "://" + authority + target; }
  bool operator==(const RedirectedTo&) const = default;
};

// Nothing: the request stays. Requires takes(route_prefix, its path).
[[nodiscard]] std::optional<RedirectedTo> redirected(const Redirect& redirect,
                                                     std::string_view route_prefix,
                                                     const RedirectedTo& request);

// One route's part of what find_loop() looks at.
struct RedirectingRoute {
  const RoutePattern* pattern = nullptr;
  const Redirect* redirect = nullptr;  // null: it has none
};
// The first loop of redirects that a request of route `start` is led into, or a chain of them that
// clients give up on, as "http://a/ -> http://b/ -> ..."; nothing: there is none. `routes` are
// those of `router`, in its order.
[[nodiscard]] std::optional<std::string> find_loop(const std::vector<RedirectingRoute>& routes,
                                                   const Router& router, std::size_t start);

}  // namespace prophecy::sketcher
