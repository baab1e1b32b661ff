// Whose memory is in use: what is allocated while a replica's core is at work is that replica's
// until it is freed, wherever that happens.
//
// One thread at a time. Only a program that has program/counted_memory.cpp counts; in any other,
// all accounts stay empty.
#pragma once

#include <cstddef>
#include <cstdint>

namespace prophecy::simulation {

// Whose allocations follow, for as long as this lives.
class MemoryUser {
 public:
  // An account of its own, from 1 on; 0 is nobody's.
  explicit MemoryUser(std::uint32_t account);
  ~MemoryUser();
  MemoryUser(const MemoryUser&) = delete;
  MemoryUser& operator=(const MemoryUser&) = delete;

 private:
  std::uint32_t before_;
};

constexpr std::uint32_t kMemoryAccounts = 256;

// Requires account < kMemoryAccounts.
[[nodiscard]] std::uint64_t bytes_in_use(std::uint32_t account);
// Taken in turn, which serves as long as no more than kMemoryAccounts - 1 are in use.
[[nodiscard]] std::uint32_t next_account();

// What operators new and delete are made of where memory is counted.
[[nodiscard]] void* allocate_counted(std::size_t size);
void free_counted(void* memory);

}  // namespace prophecy::simulation
