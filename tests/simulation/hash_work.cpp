// Stands in front of OpenSSL's function, so that the code under test need not know of it.
#include "simulation/hash_work.hpp"

#include <cstddef>

#include <dlfcn.h>

#include "base/assert.hpp"

namespace {

std::uint64_t hashed = 0;

using Update = int (*)(void* state, const void* bytes, std::size_t size);

Update next_update() {
  const auto next = reinterpret_cast<Update>(dlsym(RTLD_NEXT, "SHA256_Update"));
  ASSERT(next != nullptr);
  return next;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int SHA256_Update(void* state, const void* bytes,
                                                            std::size_t size) {
  static const Update next = next_update();
  hashed += size;
  return next(state, bytes, size);
}

namespace prophecy::simulation {

std::uint64_t hashed_bytes() {
  return hashed;
}

}  // namespace prophecy::simulation
