// `UrlParts` names a resource as s(q) does: scheme, authority in its one form, and the target's
// bytes as they are, without a fragment.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace prophecy::measurement {

struct UrlParts {
  std::string scheme;     // "http" or "https"
  std::string authority;  // lower case, without the scheme's default port
  std::string target;     // begins with "/"
};

// The parts of an absolute URL; nothing for other schemes and for what is no authority. A target
// with bytes that no request line carries is kept as it is: it is a name here, and never sent.
[[nodiscard]] std::optional<UrlParts> split_url(std::string_view url);
// SCHEME://AUTHORITY of a URL without a path; an error for any other text.
[[nodiscard]] Result<std::string> origin_of(std::string_view url);

}  // namespace prophecy::measurement
