// The simulator's operators new and delete, which count (simulation/memory_account.hpp). They are
// in no library: a program with other libraries' allocators beside it has its own. Under a
// sanitizer, which has an allocator as well, nothing is counted.
#include <cstddef>
#include <new>

#include "simulation/memory_account.hpp"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

[[gnu::noinline]] void* operator new(std::size_t size) {
  return prophecy::simulation::allocate_counted(size);
}

[[gnu::noinline]] void operator delete(void* memory) noexcept {
  prophecy::simulation::free_counted(memory);
}

[[gnu::noinline]] void operator delete(void* memory, std::size_t /*size*/) noexcept {
  prophecy::simulation::free_counted(memory);
}

#endif
