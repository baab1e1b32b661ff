// The limit on open files (RLIMIT_NOFILE) of a program whose configuration allows connections.
//
// To be called once, before the first of them and before threads or children begin.
#pragma once

#include <cstdint>

#include "base/error.hpp"
#include "base/log.hpp"

namespace prophecy {

struct DescriptorNeed {
  std::uint64_t most = 0;   // with all that the configuration allows, of one process
  std::uint64_t least = 0;  // with fewer it cannot do its work at all
};

// Raises the soft limit to `most`, which children inherit; and the hard one, if that is below it
// and the process may (root). Logs `too-few-descriptors` if it stays below. An error if it is below
// `least`.
[[nodiscard]] Result<> allow_descriptors(const DescriptorNeed& need, Logger& log);

}  // namespace prophecy
