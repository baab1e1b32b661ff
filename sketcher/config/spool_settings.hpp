// Where requests' bodies lie that are too large for memory: [spool].
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/config/config.hpp"

namespace prophecy::sketcher {

// Of one worker, at the same time: each is a descriptor, of which others have need.
constexpr std::uint64_t kSpooledFilesMax = 1024;

// The default; also what the longest time for a whole body is reckoned by.
constexpr std::uint64_t kSpoolRateMin = 64 << 10;  // bytes a second

struct SpoolSettings {
  std::size_t from_bytes = 0;  // a larger body goes to a file
  std::filesystem::path folder;
  std::uint64_t bytes_max = 0;  // of all files, of all workers
  // When room is short, what comes more slowly gives way.
  std::uint64_t bytes_per_second_min = 0;
};

// `body_bytes_max` is the limit of one body.
[[nodiscard]] SpoolSettings read_spool(ConfigSection section, std::uint64_t body_bytes_max);

// Whether a file can be made there.
[[nodiscard]] Result<> check(const SpoolSettings& settings);

}  // namespace prophecy::sketcher
