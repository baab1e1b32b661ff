#include "sketcher/counters.hpp"

#include <new>

#include <sys/mman.h>

namespace prophecy::sketcher {

Result<SharedState*> map_shared_state() {
  void* memory = ::mmap(nullptr, sizeof(SharedState), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return io_error("shared memory");
  return new (memory) SharedState;
}

}  // namespace prophecy::sketcher
