#include "http/uri_reference.hpp"

#include <algorithm>

#include "http/authority.hpp"
#include "http/text.hpp"

namespace prophecy::http {
namespace {

constexpr auto kNone = std::string_view::npos;

// Visible ASCII. No request has other bytes in its target, and clients disagree about a backslash.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c > ' ' && c < '\x7f' && c != '\\'; });
}

std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find('?'));
}

// Takes SCHEME: off the front, if there is one. A colon behind the first segment is no scheme's.
std::string_view take_scheme(std::string_view& rest) {
  const std::size_t end = rest.find_first_of(":/?");
  if (end == kNone || rest[end] != ':') return {};
  const std::string_view scheme = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return scheme;
}

// Takes //AUTHORITY off the front, if there is one. False if it is another one than the base's.
bool take_authority(std::string_view& rest, const BaseUri& base) {
  if (!rest.starts_with("//")) return true;
  rest.remove_prefix(2);
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  std::string authority;
  const bool is_one = normalize_authority(rest.substr(0, end), base.scheme, authority);
  rest.remove_prefix(end);
  return is_one && authority == base.authority;
}

// RFC 3986, 5.2.4, of a path from the root on.
std::string without_dot_segments(std::string_view path) {
  std::string result;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/', 1), path.size());
    const std::string_view segment = path.substr(1, end - 1);
    path.remove_prefix(end);
    const bool goes_up = segment == "..";
    if (goes_up) result.erase(std::min(result.rfind('/'), result.size()));
    if (!goes_up && segment != ".") {
      result.append(1, '/').append(segment);
    } else if (path.empty()) {
      result.push_back('/');
    }
  }
  return result;
}

std::string with_path(std::string_view path, std::string_view query) {
  std::string target = path.empty() ? "/" : without_dot_segments(path);
  return target.append(query);
}

}  // namespace

std::optional<std::string> resolve_at_same_origin(const BaseUri& base, std::string_view reference,
                                                  std::size_t bytes_max) {
  const bool is_usable = reference.size() <= bytes_max && is_plain(reference);
  if (!is_usable || !base.target.starts_with('/')) return std::nullopt;
  std::string_view rest = reference.substr(0, reference.find('#'));
  const std::size_t before = rest.size();
  const std::string_view scheme = take_scheme(rest);
  const bool has_scheme = rest.size() != before;
  // A URI of http has an authority; what is written without is no reference, by the strict reading.
  if (has_scheme && (!equal_ignoring_case(scheme, base.scheme) || !rest.starts_with("//")))
    return std::nullopt;
  const bool has_authority = rest.starts_with("//");
  if (!take_authority(rest, base)) return std::nullopt;

  const std::size_t path_end = std::min(rest.find('?'), rest.size());
  const std::string_view path = rest.substr(0, path_end);
  const std::string_view query = rest.substr(path_end);
  if (has_authority || path.starts_with('/')) return with_path(path, query);
  const std::string_view base_path = path_of(base.target);
  if (path.empty()) {
    return query.empty() ? std::string(base.target) : std::string(base_path).append(query);
  }
  std::string merged(base_path.substr(0, base_path.rfind('/') + 1));
  if (merged.size() + path.size() > bytes_max) return std::nullopt;
  return with_path(merged.append(path), query);
}

}  // namespace prophecy::http
