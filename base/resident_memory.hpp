// How much of the machine's memory this process holds, from /proc/self/statm.
#pragma once

#include <cstdint>

#include "base/error.hpp"

namespace prophecy {

[[nodiscard]] Result<std::uint64_t> resident_memory_bytes();

}  // namespace prophecy
