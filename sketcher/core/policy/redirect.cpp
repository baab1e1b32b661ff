#include "sketcher/core/policy/redirect.hpp"

#include <algorithm>

#include "http/authority.hpp"
#include "sketcher/core/policy/prefix_rewrite.hpp"

namespace prophecy::sketcher {
namespace {

// Browsers follow 20.
constexpr std::size_t kChainMax = 10;
// A segment, and a name, that no route has: what is true of it is true of any other.
constexpr std::string_view kAnySegment = "any-other-segment";
constexpr std::string_view kAnyName = "any-other-name";

std::string_view path_before_query(std::string_view target) {
  return target.substr(0, target.find('?'));
}

std::string host_of(const std::string& authority) {
  const std::size_t colon = authority.rfind(':');
  return colon == std::string::npos || authority.ends_with(']') ? authority
                                                                : authority.substr(0, colon);
}

// Names that the pattern takes: one for each of its hosts.
std::vector<std::string> hosts_of(const RoutePattern& pattern) {
  if (pattern.hosts.empty()) return {std::string(kAnyName)};
  std::vector<std::string> hosts;
  for (const std::string& host : pattern.hosts)
    hosts.push_back(host.starts_with("*.") ? std::string(kAnyName) + host.substr(1) : host);
  return hosts;
}

std::optional<std::string> follow(const std::vector<RedirectingRoute>& routes, const Router& router,
                                  RedirectedTo at) {
  std::vector<RedirectedTo> met;
  std::string chain;
  for (;;) {
    chain += (met.empty() ? "" : " -> ") + at.url();
    const bool is_loop = std::find(met.begin(), met.end(), at) != met.end();
    if (is_loop || met.size() > kChainMax) return chain;
    met.push_back(at);
    const Router::Choice choice = router.choose(at.authority, at.target);
    if (!choice.route) return std::nullopt;
    const RedirectingRoute& route = routes[*choice.route];
    if (route.redirect == nullptr) return std::nullopt;
    auto next = redirected(*route.redirect, route.pattern->path_prefix, at);
    if (!next) return std::nullopt;
    at = std::move(*next);
  }
}

}  // namespace

std::optional<RedirectedTo> redirected(const Redirect& redirect, std::string_view route_prefix,
                                       const RedirectedTo& request) {
  if (request.target == "*") return std::nullopt;
  RedirectedTo to = request;
  if (!redirect.scheme.empty() && redirect.scheme != request.scheme) {
    to.scheme = redirect.scheme;
    to.authority = host_of(request.authority);  // the other scheme is on another port
  }
  if (!redirect.authority.empty() &&
      !http::normalize_authority(redirect.authority, to.scheme, to.authority)) {
    return std::nullopt;
  }
  if (redirect.path_prefix) {
    const std::string_view path = path_before_query(request.target);
    to.target = replace_prefix(path, route_prefix, *redirect.path_prefix);
    to.target.append(std::string_view(request.target).substr(path.size()));
  }
  if (to == request) return std::nullopt;
  return to;
}

// A loop takes prefixes off and puts others on; behind them stays what all its requests have in
// common. Where that is the shortest, a request has a route's prefix and nothing but that behind
// it, and no longer route takes any of it: so it loops with another segment there as well. To begin
// with each route's prefix, alone and with such a segment, is enough.
std::optional<std::string> find_loop(const std::vector<RedirectingRoute>& routes,
                                     const Router& router, std::size_t start) {
  if (routes[start].redirect == nullptr) return std::nullopt;
  const RoutePattern& pattern = *routes[start].pattern;
  const std::string longer = pattern.path_prefix + (pattern.path_prefix.ends_with('/') ? "" : "/") +
                             std::string(kAnySegment);
  for (const std::string& host : hosts_of(pattern)) {
    for (const char* scheme : {"http", "https"}) {
      for (const std::string& path : {pattern.path_prefix, longer}) {
        if (auto chain = follow(routes, router, {scheme, host, path})) return chain;
      }
    }
  }
  return std::nullopt;
}

}  // namespace prophecy::sketcher
