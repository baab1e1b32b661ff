// `SessionArena` hands out the memory of one nghttp2 session from one contiguous range, so that all
// of it can be put away and restored as bytes, at the same addresses.
//
// The object lies at the beginning of the range, in front of the blocks: whatever it knows of them
// is part of the range. Released blocks wait in lists, by size, and are not joined: a session asks
// for the same few sizes again and again. A block that finds no room is the caller's to get
// elsewhere.
//
// Not thread-safe. Sizes are bytes, but where a name says units.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace prophecy::http {

class SessionArena {
 public:
  static constexpr std::size_t kBytes = std::size_t{64} << 10;

  // REQUIRES: is constructed at the beginning of kBytes of memory, aligned to kUnitBytes.
  SessionArena();
  SessionArena(const SessionArena&) = delete;
  SessionArena& operator=(const SessionArena&) = delete;

  // Aligned as malloc() does. Null: no room.
  [[nodiscard]] void* allocate(std::size_t size);
  // REQUIRES: owns(block), which was not released.
  void release(void* block);
  // So much of the block may be used.
  [[nodiscard]] std::size_t size_of(void* block) const;
  [[nodiscard]] bool owns(const void* block) const;

  // Blocks that found no room here, and are still in use elsewhere.
  [[nodiscard]] std::uint32_t elsewhere() const { return elsewhere_; }
  void count_elsewhere(bool is_new) { is_new ? ++elsewhere_ : --elsewhere_; }

  // Overwrites what released blocks have left with zeros.
  void clear_released();
  // The range from the beginning of this object to the last block that was ever in use.
  [[nodiscard]] std::span<std::byte> used();

 private:
  static constexpr std::size_t kUnitBytes = 16;
  static constexpr std::size_t kUnits = kBytes / kUnitBytes;
  // Released blocks of up to so many units have a list for each size.
  static constexpr std::size_t kSmallUnitsMax = 64;
  // Blocks of the list of larger ones that are looked at.
  static constexpr int kLargeLooks = 8;

  // In front of each block, in the second half of its first unit. The block reaches into the first
  // half of the unit behind it.
  struct Header {
    std::uint16_t units;
    std::uint16_t next;  // in its list: a unit; 0: none
    std::uint32_t is_released;
  };
  static_assert(sizeof(Header) == kUnitBytes / 2);

  [[nodiscard]] std::byte* at(std::size_t unit) {
    return reinterpret_cast<std::byte*>(this) + unit * kUnitBytes;
  }
  [[nodiscard]] Header& header_of(std::size_t unit) {
    return *reinterpret_cast<Header*>(at(unit) + sizeof(Header));
  }
  [[nodiscard]] std::size_t unit_of(const void* block) const;
  [[nodiscard]] std::size_t take_released(std::size_t units);

  std::uint16_t top_;  // the first unit that was never in use
  std::uint32_t elsewhere_ = 0;
  std::uint16_t large_ = 0;  // of released blocks: the first unit of the first one
  std::array<std::uint16_t, kSmallUnitsMax> small_{};
};

}  // namespace prophecy::http
