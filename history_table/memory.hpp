// Memory that a process shares with children forked later, in huge pages where the system offers
// them, since a lookup at random meets a page that the processor has not looked up lately. Owned by
// one object in each process; each unmaps for itself.
#pragma once

#include <cstddef>
#include <string>

#include "base/error.hpp"

namespace prophecy::table {

class Memory {
 public:
  // All zero, and populated.
  [[nodiscard]] static Result<Memory> anonymous(std::size_t bytes);
  // A file's first `bytes`, which it has to have, on the disk as well; not populated.
  [[nodiscard]] static Result<Memory> of_file(int fd, std::size_t bytes);

  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;
  ~Memory();

  // Makes all of it present.
  [[nodiscard]] Result<> populate() const;

  [[nodiscard]] std::byte* address() const { return address_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  // How many bytes of it lie in huge pages now, by what the system tells.
  [[nodiscard]] std::size_t huge_bytes() const;

 private:
  Memory(void* address, std::size_t size, std::size_t mapped)
      : address_(static_cast<std::byte*>(address)), size_(size), mapped_(mapped) {}

  std::byte* address_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_ = 0;  // bytes, in whole pages
};

}  // namespace prophecy::table
