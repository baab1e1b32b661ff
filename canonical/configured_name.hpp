// Names of header fields in a configuration. Internal to canonical/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace prophecy::sketch {

// The longest name that makes sense.
inline constexpr std::size_t kConfiguredNameBytesMax = 128;

// With "-" for "_": CGI makes the same variable of both.
[[nodiscard]] inline std::string with_hyphens(std::string_view name) {
  std::string plain(name);
  std::replace(plain.begin(), plain.end(), '_', '-');
  return plain;
}

}  // namespace prophecy::sketch
