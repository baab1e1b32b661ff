// Points in time as HTTP writes them (RFC 9110, 5.6.7): of the three forms that a recipient has to
// understand, the one that senders use is Sun, 06 Nov 1994 08:49:37 GMT.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string_view>

namespace prophecy::http {

// Empty for anything that is none of the three, to the letter. A year of two digits is taken for
// one from 1970 to 2069: what a message says must not depend on when it is read.
[[nodiscard]] std::optional<std::chrono::sys_seconds> parse_http_date(std::string_view text);

using HttpDateText = std::array<char, 29>;
// Requires a year from 0 to 9999.
[[nodiscard]] HttpDateText http_date_text(std::chrono::sys_seconds time);

}  // namespace prophecy::http
