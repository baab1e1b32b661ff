#include "history_table/memory.hpp"

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace prophecy::table {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

constexpr std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kHugePage - 1) / kHugePage * kHugePage;
}

constexpr int kAccess = PROT_READ | PROT_WRITE;
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // of Linux 6.1
#endif

// Where whole huge pages can lie: at an address that is a multiple of theirs, as the offset is.
void* map_aligned(std::size_t bytes, int flags, int fd) {
  const std::size_t reserved = bytes + kHugePage;
  void* const place = ::mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) return MAP_FAILED;
  auto* const begin = static_cast<std::byte*>(place);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(begin) % kHugePage;
  void* const address = ::mmap(begin + before, bytes, kAccess, flags | MAP_FIXED, fd, 0);
  if (address == MAP_FAILED) {
    const int problem = errno;
    ::munmap(begin, reserved);
    errno = problem;
    return MAP_FAILED;
  }
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t end = before + (bytes + page - 1) / page * page;
  if (before > 0) ::munmap(begin, before);
  if (end < reserved) ::munmap(begin + end, reserved - end);
  return address;
}

// A core file of a table is large, takes long, and has what its entries' owners read.
void keep_out_of_core_dumps(void* address, std::size_t bytes) {
  static_cast<void>(::madvise(address, bytes, MADV_DONTDUMP));
}

Error mapping_error(std::size_t bytes) {
  return io_error("cannot map " + std::to_string(bytes) + " bytes for the history table");
}

// One line of a mapping in /proc/self/smaps, such as "ShmemPmdMapped:   2048 kB".
std::size_t bytes_in(std::string_view line) {
  const std::size_t digits = line.find_first_of("0123456789");
  std::size_t kibibytes = 0;
  if (digits != line.npos) std::from_chars(&line[digits], line.data() + line.size(), kibibytes);
  return kibibytes * 1024;
}

}  // namespace

Result<Memory> Memory::anonymous(std::size_t bytes) {
  constexpr int kShared = MAP_SHARED | MAP_ANONYMOUS;
  // From the pages that an operator has set aside, if they suffice.
  if (bytes >= kHugePage) {
    void* const huge = ::mmap(nullptr, whole_pages(bytes), kAccess,
                              kShared | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT), -1, 0);
    if (huge != MAP_FAILED) {
      keep_out_of_core_dumps(huge, whole_pages(bytes));
      Memory memory(huge, bytes, whole_pages(bytes));
      if (memory.populate()) return memory;
    }
  }
  void* const address = map_aligned(bytes, kShared, -1);
  if (address == MAP_FAILED) return mapping_error(bytes);
  keep_out_of_core_dumps(address, bytes);
  Memory memory(address, bytes, bytes);
  if (auto populated = memory.populate(); !populated) return populated.error();
  return memory;
}

Result<Memory> Memory::of_file(int fd, std::size_t bytes) {
  void* const address = map_aligned(bytes, MAP_SHARED, fd);
  if (address == MAP_FAILED) return mapping_error(bytes);
  keep_out_of_core_dumps(address, bytes);
  return Memory(address, bytes, bytes);
}

// At once: a machine that is too small shows it at the start, and not as a SIGBUS under load.
Result<> Memory::populate() const {
  // Huge pages if the system gives them for such memory; if not, nothing is lost. Where it does not
  // by itself, a page that is there in part is made a huge one on demand, whatever the system's
  // settings are; from its first part, since that is less work than from all.
  static_cast<void>(::madvise(address_, mapped_, MADV_HUGEPAGE));
  auto* const begin = static_cast<std::byte*>(address_);
  for (std::size_t at = 0; at + kHugePage <= mapped_; at += kHugePage) {
    if (::madvise(begin + at, 1, MADV_POPULATE_WRITE) != 0) return mapping_error(size_);
    if (::madvise(begin + at, kHugePage, MADV_COLLAPSE) != 0) break;
  }
  if (::madvise(address_, mapped_, MADV_POPULATE_WRITE) != 0) return mapping_error(size_);
  return {};
}

Memory::Memory(Memory&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)),
      size_(other.size_),
      mapped_(other.mapped_) {}

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

Memory::~Memory() {
  if (address_ != nullptr) ::munmap(address_, mapped_);
}

std::size_t Memory::huge_bytes() const {
  std::ifstream smaps("/proc/self/smaps");
  const auto begin = reinterpret_cast<std::uintptr_t>(address_);
  std::size_t bytes = 0;
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    std::uintptr_t address = 0;
    const char* const end = line.data() + line.size();
    const auto parsed = std::from_chars(line.data(), end, address, 16);
    if (parsed.ec == std::errc{} && parsed.ptr != end && *parsed.ptr == '-') {
      inside = address >= begin && address < begin + mapped_;
    } else if (inside &&
               (line.starts_with("ShmemPmdMapped:") || line.starts_with("FilePmdMapped:") ||
                line.starts_with("Shared_Hugetlb:") || line.starts_with("Private_Hugetlb:"))) {
      bytes += bytes_in(line);
    }
  }
  return bytes;
}

}  // namespace prophecy::table
