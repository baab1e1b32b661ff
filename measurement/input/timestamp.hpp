// Points in time as captures write them: ISO 8601 as in WARC-Date and HAR's startedDateTime, and
// the 14 digits of CDX.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace prophecy::measurement {

using Microseconds = std::int64_t;  // since 1970-01-01T00:00:00Z

// YYYY-MM-DDThh:mm:ss with an optional fraction, and Z or an offset such as +01:00.
[[nodiscard]] std::optional<Microseconds> parse_iso_time(std::string_view text);
// YYYYMMDDhhmmss, UTC.
[[nodiscard]] std::optional<Microseconds> parse_digits_time(std::string_view text);
// As ISO 8601, UTC, with six digits of a fraction; for years from 1970 to 9999.
[[nodiscard]] std::string iso_time(Microseconds time);

}  // namespace prophecy::measurement
