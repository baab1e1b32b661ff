#include "base/memory/reserved_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace prophecy {

std::optional<ReservedMemory> ReservedMemory::reserve(std::size_t size) {
  void* const begin = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) return std::nullopt;
  // A huge page would be backed as a whole for the few of its bytes that are in use.
  static_cast<void>(::madvise(begin, size, MADV_NOHUGEPAGE));
  return ReservedMemory({static_cast<std::byte*>(begin), size});
}

std::size_t ReservedMemory::page_bytes() {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

bool ReservedMemory::give_back(std::span<std::byte> pages) {
  return ::madvise(pages.data(), pages.size(), MADV_DONTNEED) == 0;
}

ReservedMemory::~ReservedMemory() {
  if (!range_.empty()) ::munmap(range_.data(), range_.size());
}

}  // namespace prophecy
