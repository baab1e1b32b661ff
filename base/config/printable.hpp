// Text out of a file as a message may show it: in UTF-8, on one line, and not too long.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace prophecy {

// The most of a value or of a key that a message shows.
inline constexpr std::size_t kFoundBytesMax = 80;

// How many bytes of `text`, from its first one on, are UTF-8.
[[nodiscard]] std::size_t utf8_bytes(std::string_view text);

// As many whole characters as `bytes_max` has room for, with "..." for those left out.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t bytes_max);

// With "\u000A" for characters that control a terminal or the order of letters, and "\xFF" for
// bytes that are no UTF-8.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace prophecy
