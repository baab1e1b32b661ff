// `ReservedMemory` is a range of addresses for whoever places objects in it: the system backs a
// page once it is written to, and takes its memory back when it is told to.
//
// Not thread-safe. Sizes are bytes, and numbers of whole pages.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace prophecy {

class ReservedMemory {
 public:
  // The range reads as zeros. Nullopt: the system has no more addresses for this process.
  [[nodiscard]] static std::optional<ReservedMemory> reserve(std::size_t size);
  [[nodiscard]] static std::size_t page_bytes();
  // Gives the memory of these pages of a range back; they read as zeros afterwards. False: they are
  // locked in memory, and as they were.
  [[nodiscard]] static bool give_back(std::span<std::byte> pages);

  ReservedMemory(ReservedMemory&& from) noexcept : range_(std::exchange(from.range_, {})) {}
  ReservedMemory& operator=(ReservedMemory&& from) noexcept {
    std::swap(range_, from.range_);
    return *this;
  }
  ReservedMemory(const ReservedMemory&) = delete;
  ReservedMemory& operator=(const ReservedMemory&) = delete;
  ~ReservedMemory();

  [[nodiscard]] std::byte* begin() const { return range_.data(); }

 private:
  explicit ReservedMemory(std::span<std::byte> range) : range_(range) {}

  std::span<std::byte> range_;
};

}  // namespace prophecy
