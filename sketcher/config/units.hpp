// Units of bytes, for bounds and defaults of settings.
#pragma once

#include <cstddef>

namespace prophecy::sketcher {

inline constexpr std::size_t kKiB = std::size_t{1} << 10;
inline constexpr std::size_t kMiB = std::size_t{1} << 20;
inline constexpr std::size_t kGiB = std::size_t{1} << 30;

}  // namespace prophecy::sketcher
