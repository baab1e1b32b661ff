// What this machine's memory does by itself: loads of single lines at random, from as much memory
// of the same kind as a table has. A lookup takes three lines, of which the last one's place
// follows from the others.
#pragma once

#include <cstddef>

#include "base/error.hpp"

namespace prophecy::tools {

struct MemoryYardstick {
  double loads = 0;       // in a second of processor time, as many at once as the processor can
  double latency_ns = 0;  // of one, if the next one's place follows from it
};

[[nodiscard]] Result<MemoryYardstick> measure_memory(std::size_t bytes, double seconds);

// Of the calling thread.
[[nodiscard]] double processor_seconds();

}  // namespace prophecy::tools
