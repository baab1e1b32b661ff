// What this process has hashed with SHA-256. A run has a process of its own, or runs one after
// another; what one event costs is a difference.
#pragma once

#include <cstdint>

namespace prophecy::simulation {

[[nodiscard]] std::uint64_t hashed_bytes();

}  // namespace prophecy::simulation
