#include "http/authority.hpp"

#include <algorithm>
#include <charconv>

#include "base/ip_address.hpp"
#include "http/text.hpp"

namespace prophecy::http {
namespace {

constexpr std::size_t kHostBytesMax = 255;

bool is_name_char(char c) {
  return (c >= '0' && c <= '9') || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '-' ||
         c == '_' || c == '.' || c == '~';
}

bool is_host(std::string_view host) {
  if (host.empty() || host.size() > kHostBytesMax) return false;
  if (host.front() != '[') {
    // An origin may make a path of a name: no empty labels, but for the root's at the end.
    return std::all_of(host.begin(), host.end(), is_name_char) && host.front() != '.' &&
           host.find("..") == std::string_view::npos;
  }
  if (host.back() != ']') return false;
  const std::string_view address = host.substr(1, host.size() - 2);
  return address.find(':') != std::string_view::npos && IpAddress::parse(address).has_value();
}

// Zero for no port at all ("" or ":"), and a false result for an invalid one.
bool parse_port(std::string_view text, unsigned& port) {
  port = 0;
  if (text.empty()) return true;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), port);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && port > 0 &&
         port <= 65535 && text.front() != '0';
}

}  // namespace

TargetParts split_target(std::string_view target) {
  const std::size_t scheme_end = target.find("://");
  if (target.starts_with('/') || target == "*" || scheme_end == std::string_view::npos) {
    return {{}, {}, target};
  }
  TargetParts parts;
  parts.scheme = target.substr(0, scheme_end);
  const std::string_view rest = target.substr(scheme_end + 3);
  const std::size_t authority_end = std::min(rest.find_first_of("/?"), rest.size());
  parts.authority = rest.substr(0, authority_end);
  parts.path = rest.substr(authority_end);
  return parts;
}

bool normalize_authority(std::string_view authority, std::string_view scheme, std::string& out) {
  out.clear();
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  const bool has_port = colon != std::string_view::npos;
  unsigned port = 0;
  if (has_port && !parse_port(authority.substr(colon + 1), port)) return false;
  std::string_view host = authority.substr(0, colon);
  if (!is_host(host)) return false;
  // The root's dot says nothing, and origins leave it out where they choose a site: with it, a
  // request would be of another route than the site that answers it.
  if (host.back() == '.') host.remove_suffix(1);

  append_lower(out, host);
  const unsigned default_port = scheme == "https" ? 443 : 80;
  if (port != 0 && port != default_port) {
    out.push_back(':');
    out.append(authority.substr(colon + 1));
  }
  return true;
}

}  // namespace prophecy::http
