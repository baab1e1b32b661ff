#include "simulation/memory_account.hpp"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "base/assert.hpp"

namespace {

std::array<std::uint64_t, prophecy::simulation::kMemoryAccounts> in_use{};
thread_local std::uint32_t user = 0;

// In front of what is allocated, and as long as its alignment asks for.
struct alignas(std::max_align_t) Header {
  std::size_t size;
  std::uint32_t account;
};

}  // namespace

namespace prophecy::simulation {

void* allocate_counted(std::size_t size) {
  auto* const header = static_cast<Header*>(std::malloc(sizeof(Header) + size));
  if (header == nullptr) throw std::bad_alloc();
  header->size = size;
  header->account = user;
  if (user != 0) in_use[user] += size;
  return header + 1;
}

void free_counted(void* memory) {
  if (memory == nullptr) return;
  Header* const header = static_cast<Header*>(memory) - 1;
  if (header->account != 0) in_use[header->account] -= header->size;
  std::free(header);
}

MemoryUser::MemoryUser(std::uint32_t account) : before_(user) {
  ASSERT(account < kMemoryAccounts);
  user = account;
}

MemoryUser::~MemoryUser() {
  user = before_;
}

std::uint32_t next_account() {
  static std::uint32_t last = 0;
  last = last % (kMemoryAccounts - 1) + 1;
  return last;
}

std::uint64_t bytes_in_use(std::uint32_t account) {
  return in_use.at(account);
}

}  // namespace prophecy::simulation
