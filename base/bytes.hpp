// Byte sequences, and the two ways to look at them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prophecy {

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;

inline ByteView as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

inline std::string_view as_text(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline Bytes to_bytes(std::string_view text) {
  const ByteView view = as_bytes(text);
  return {view.begin(), view.end()};
}

// Lower-case hexadecimal, two digits a byte.
[[nodiscard]] std::string to_hex(ByteView bytes);

// False when `hex` is not exactly twice as long as `out`, or has another character.
[[nodiscard]] bool from_hex(std::string_view hex, std::span<std::uint8_t> out);

}  // namespace prophecy
