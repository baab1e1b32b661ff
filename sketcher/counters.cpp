#include "sketcher/counters.hpp"

#include <new>

#include <sys/mman.h>

namespace prophecy::sketcher {

Result<WorkerCounters*> map_counters(std::size_t workers) {
  void* memory = ::mmap(nullptr, workers * sizeof(WorkerCounters), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return io_error("shared memory for counters");
  auto* blocks = static_cast<WorkerCounters*>(memory);
  for (std::size_t i = 0; i < workers; ++i)
    new (blocks + i) WorkerCounters;
  return blocks;
}

}  // namespace prophecy::sketcher
