// What origins call themselves. An origin that puts its own authority into Location, say, makes an
// answer of its own, and shows clients a name that is none of theirs. A reference to one of the
// listed authorities becomes one without scheme and authority, which means the client's own; any
// other stays as it is: were it rewritten by what an origin says, it would be an open redirect.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prophecy::sketch {

// One authority, in the form that it has in URLs of either scheme.
struct OriginAuthority {
  std::string http;
  std::string https;
  auto operator<=>(const OriginAuthority&) const = default;
};

// Nothing for what is no authority.
[[nodiscard]] std::optional<OriginAuthority> parse_origin_authority(std::string_view text);

// Rewrites the value of Location or Content-Location, if it is a URL of http or https, or one
// without a scheme, whose authority is one of these.
void strip_origin(std::string& reference, const std::vector<OriginAuthority>& authorities);

}  // namespace prophecy::sketch
