#include "sketcher/core/policy/router.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>

#include "sketcher/core/policy/path_readings.hpp"

namespace prophecy::sketcher {
namespace {

std::string_view without_port(std::string_view authority) {
  const std::size_t colon = authority.rfind(':');
  const bool in_brackets = authority.ends_with(']');
  return colon == std::string_view::npos || in_brackets ? authority : authority.substr(0, colon);
}

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' ||
         c == '~';
}

// Requests are looked up without the root's dot.
bool is_name(std::string_view text) {
  return !text.empty() && !text.starts_with('.') && !text.ends_with('.') &&
         text.find("..") == std::string_view::npos &&
         std::all_of(text.begin(), text.end(), is_name_char);
}

bool is_address_in_brackets(std::string_view text) {
  if (text.size() < 4 || !text.starts_with('[') || !text.ends_with(']')) return false;
  text = text.substr(1, text.size() - 2);
  return text.find(':') != std::string_view::npos &&
         text.find_first_not_of("0123456789abcdef:.") == std::string_view::npos;
}

bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port != 0;
}

}  // namespace

bool is_host_pattern(std::string_view text) {
  if (text.size() > 255) return false;
  const bool is_wildcard = text.starts_with("*.");
  if (is_wildcard) text.remove_prefix(2);
  const std::string_view host = without_port(text);
  if (host.size() != text.size() && !is_port(text.substr(host.size() + 1))) return false;
  return is_name(host) || (!is_wildcard && is_address_in_brackets(host));
}

bool is_path_prefix(std::string_view text) {
  return text.starts_with('/') && text.size() <= 1024 && is_plain_path(text) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c > ' ' && c < '\x7f' && c != '?' && c != '#'; });
}

bool takes(std::string_view prefix, std::string_view path) {
  if (!path.starts_with(prefix)) return false;
  return prefix.ends_with('/') || path.size() == prefix.size() || path[prefix.size()] == '/';
}

bool takes(const RoutePattern& pattern, std::string_view authority, std::string_view target) {
  const std::string_view name = without_port(authority);
  const auto is_its = [&](const std::string& host) {
    if (host == authority || host == name) return true;
    return host.starts_with("*.") && name.ends_with(std::string_view(host).substr(1));
  };
  const bool has_host =
      pattern.hosts.empty() || std::any_of(pattern.hosts.begin(), pattern.hosts.end(), is_its);
  return has_host && takes(pattern.path_prefix, target.substr(0, target.find('?')));
}

bool overlaps(const RoutePattern& one, const RoutePattern& other) {
  return one.path_prefix == other.path_prefix && share_host(one, other);
}

bool share_host(const RoutePattern& one, const RoutePattern& other) {
  if (one.hosts.empty() || other.hosts.empty()) return one.hosts.empty() && other.hosts.empty();
  return std::any_of(one.hosts.begin(), one.hosts.end(), [&](const std::string& host) {
    return std::find(other.hosts.begin(), other.hosts.end(), host) != other.hosts.end();
  });
}

Router::Router(const std::vector<RoutePattern>& routes) {
  for (std::uint32_t route = 0; route < routes.size(); ++route) {
    const RoutePattern& pattern = routes[route];
    const auto add = [&](const std::string& path, Mark mark) {
      has_prefixes_ |= path != "/";
      if (pattern.hosts.empty()) by_host_[""].push_back({path, route, mark});
      for (const std::string& host : pattern.hosts)
        by_host_[host].push_back({path, route, mark});
    };
    // A list's before the route's own of the same length.
    for (const std::string& path : pattern.whitelist)
      add(path, Mark::whitelisted);
    for (const std::string& path : pattern.blacklist)
      add(path, Mark::blacklisted);
    add(pattern.path_prefix, Mark::none);
  }
  for (auto& [host, prefixes] : by_host_) {
    std::stable_sort(prefixes.begin(), prefixes.end(), [](const Prefix& a, const Prefix& b) {
      return a.path.size() > b.path.size();
    });
  }
}

Router::Choice Router::choose(std::string_view authority, std::string_view target) const {
  bool host_known = false;
  const std::string_view path = target.substr(0, target.find('?'));
  const Prefix* found = find(authority, target == "*" ? "/" : path, host_known);
  if (has_prefixes_ && !is_plain_path(path)) return choose_of_readings(authority, path, found);
  if (found != nullptr) return {found->route, Miss::unknown_path, found->mark};
  return {std::nullopt, host_known ? Miss::unknown_path : Miss::unknown_host};
}

Router::Choice Router::choose_of_readings(std::string_view authority, std::string_view path,
                                          const Prefix* found) const {
  const auto readings = readings_of_path(path);
  if (!readings) return {std::nullopt, Miss::long_path};
  bool host_known = false;
  Choice choice{std::nullopt, Miss::ambiguous_path};
  if (found != nullptr) choice = {found->route, Miss::ambiguous_path};
  const auto read_as = [&](const Prefix* reading) {
    if (reading != nullptr && reading->mark == Mark::blacklisted) choice.mark = Mark::blacklisted;
    return (reading == nullptr) == (found == nullptr) &&
           (reading == nullptr || reading->route == found->route);
  };
  for (const std::string& spelled : *readings) {
    if (!read_as(find(authority, spelled, host_known))) return {std::nullopt, Miss::ambiguous_path};
  }
  static_cast<void>(read_as(found));
  if (found == nullptr) choice.miss = host_known ? Miss::unknown_path : Miss::unknown_host;
  return choice;
}

const Router::Prefixes* Router::of_host(std::string_view pattern) const {
  const auto found = by_host_.find(pattern);
  return found == by_host_.end() ? nullptr : &found->second;
}

const Router::Prefix* Router::find(std::string_view authority, std::string_view path,
                                   bool& host_known) const {
  const auto in = [&](std::string_view pattern) -> const Prefix* {
    const Prefixes* prefixes = of_host(pattern);
    if (prefixes == nullptr) return nullptr;
    host_known = true;
    const auto found = std::find_if(prefixes->begin(), prefixes->end(),
                                    [&](const Prefix& each) { return takes(each.path, path); });
    return found == prefixes->end() ? nullptr : &*found;
  };
  const bool any_only = by_host_.size() == 1 && by_host_.begin()->first.empty();
  if (!any_only) {
    if (const Prefix* found = in(authority)) return found;
    const std::string_view name = without_port(authority);
    if (name != authority) {
      if (const Prefix* found = in(name)) return found;
    }
    // "*.b.c" for a.b.c: the key of a wildcard is looked up with its star.
    std::string wildcard;
    for (std::size_t dot = name.find('.'); dot != std::string_view::npos;
         dot = name.find('.', dot + 1)) {
      wildcard.assign(1, '*').append(name.substr(dot));
      if (const Prefix* found = in(wildcard)) return found;
    }
  }
  return in("");
}

}  // namespace prophecy::sketcher
