// Sizes and times as a configuration writes them: "16KiB", "250ms".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace prophecy {

// "16 KiB", "64MiB", "1GiB", "512B"; nothing when number or unit is wrong, or the size too large.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);
// With the largest unit that divides it.
[[nodiscard]] std::string format_size(std::uint64_t bytes);

// "250us", "500ms", "3s", "2m", "1h"; nothing as above.
[[nodiscard]] std::optional<Duration> parse_time(std::string_view text);
[[nodiscard]] std::string format_time(Duration time);

}  // namespace prophecy
