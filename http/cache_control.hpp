// What Cache-Control says of an answer (RFC 9111, 5.2.2), as far as it matters here.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace prophecy::http {

// Seconds; at most 2^31, as caches reckon. Nothing where no max-age is given, or none that is a
// number. (s-maxage speaks to shared caches alone.)
[[nodiscard]] std::optional<std::uint32_t> max_age(std::string_view cache_control);

// no-transform: the content is to be passed on as it is.
[[nodiscard]] bool forbids_transformation(std::string_view cache_control);

}  // namespace prophecy::http
