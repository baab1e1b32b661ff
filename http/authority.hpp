// The authority of a request and the parts of its target (RFC 9110, 4.2 and 7.1), brought into the
// one form in which they are compared, keyed and sent to an origin.
#pragma once

#include <string>
#include <string_view>

namespace prophecy::http {

// A request target, taken apart. Views into the target.
struct TargetParts {
  std::string_view scheme;     // as it stood; empty for origin-form and "*"
  std::string_view authority;  // as it stood; empty for origin-form and "*"
  std::string_view path;       // with the query; empty when an absolute form has neither
};

// Requires a target that RequestParser accepted.
[[nodiscard]] TargetParts split_target(std::string_view target);

// HOST[:PORT] in lower case without the scheme's default port, into `out` (replaced). False for
// anything but a name of letters, digits, "-", "_", "~" in labels between single dots, or a
// bracketed IPv6 address, with an optional port from 1 to 65535: no user information, no
// percent-encoding.
[[nodiscard]] bool normalize_authority(std::string_view authority, std::string_view scheme,
                                       std::string& out);

}  // namespace prophecy::http
