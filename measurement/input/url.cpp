#include "measurement/input/url.hpp"

#include <algorithm>

#include "http/authority.hpp"
#include "http/text.hpp"

namespace prophecy::measurement {

std::optional<UrlParts> split_url(std::string_view url) {
  const std::size_t colon = url.find("://");
  if (colon == std::string_view::npos) return std::nullopt;
  UrlParts parts;
  http::append_lower(parts.scheme, url.substr(0, colon));
  if (parts.scheme != "http" && parts.scheme != "https") return std::nullopt;
  url.remove_prefix(colon + 3);
  url = url.substr(0, url.find('#'));
  const std::size_t end = std::min(url.find_first_of("/?"), url.size());
  if (!http::normalize_authority(url.substr(0, end), parts.scheme, parts.authority)) {
    return std::nullopt;
  }
  url.remove_prefix(end);
  if (!url.starts_with('/')) parts.target.push_back('/');
  parts.target += url;
  return parts;
}

Result<std::string> origin_of(std::string_view url) {
  const auto parts = split_url(url);
  if (!parts || parts->target != "/" || url.find_first_of("?#") != std::string_view::npos) {
    return Error{ErrorKind::invalid,
                 "expected http://HOST or https://HOST, found \"" + std::string(url) + "\""};
  }
  return parts->scheme + "://" + parts->authority;
}

}  // namespace prophecy::measurement
