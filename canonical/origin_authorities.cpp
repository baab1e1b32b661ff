#include "canonical/origin_authorities.hpp"

#include <algorithm>

#include "http/authority.hpp"
#include "http/text.hpp"

namespace prophecy::sketch {
namespace {

constexpr std::string_view kHttp = "http";
constexpr std::string_view kHttps = "https";

// Browsers drop tabs and take a backslash for a slash, so that what is left of a reference with
// such bytes might begin with an authority again.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c > ' ' && c < 0x7f && c != '\\'; });
}

}  // namespace

std::optional<OriginAuthority> parse_origin_authority(std::string_view text) {
  OriginAuthority authority;
  if (!http::normalize_authority(text, kHttp, authority.http) ||
      !http::normalize_authority(text, kHttps, authority.https)) {
    return std::nullopt;
  }
  return authority;
}

void strip_origin(std::string& reference, const std::vector<OriginAuthority>& authorities) {
  if (authorities.empty() || !is_plain(reference)) return;
  const std::string_view text = reference;
  const std::size_t begin = text.find("//");
  if (begin == std::string_view::npos) return;
  const std::string_view scheme = text.substr(0, begin);
  const bool is_https = http::equal_ignoring_case(scheme, "https:");
  if (!is_https && !scheme.empty() && !http::equal_ignoring_case(scheme, "http:")) return;
  const std::size_t end = std::min(text.find_first_of("/?#", begin + 2), text.size());
  const std::string_view written = text.substr(begin + 2, end - begin - 2);
  std::string authority;
  if (!http::normalize_authority(written, is_https ? kHttps : kHttp, authority)) return;
  const bool is_own = std::any_of(
      authorities.begin(), authorities.end(),
      [&](const OriginAuthority& own) { return authority == (is_https ? own.https : own.http); });
  if (!is_own) return;
  const std::string_view rest = text.substr(end);
  // "//x" would be a reference to the authority x; "/.//x" is the path that was meant.
  std::string stripped(rest.starts_with("//") ? "/." : rest.starts_with('/') ? "" : "/");
  stripped.append(rest);
  reference = std::move(stripped);
}

}  // namespace prophecy::sketch
