#include "http/http2/session_arena.hpp"

#include <cstring>
#include <functional>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::http {

SessionArena::SessionArena() : top_((sizeof(SessionArena) + kUnitBytes - 1) / kUnitBytes) {
  static_assert(kUnits <= UINT16_MAX);
  static_assert(alignof(SessionArena) <= kUnitBytes);
}

std::size_t SessionArena::unit_of(const void* block) const {
  const auto offset =
      static_cast<const std::byte*>(block) - reinterpret_cast<const std::byte*>(this);
  return static_cast<std::size_t>(offset) / kUnitBytes - 1;
}

bool SessionArena::owns(const void* block) const {
  const auto* const begin = reinterpret_cast<const std::byte*>(this);
  const auto* const byte = static_cast<const std::byte*>(block);
  return std::greater_equal<>()(byte, begin) && std::less<>()(byte, begin + kBytes);
}

std::size_t SessionArena::size_of(void* block) const {
  const auto* const header = reinterpret_cast<const Header*>(static_cast<std::byte*>(block)) - 1;
  return header->units * kUnitBytes - sizeof(Header);
}

std::size_t SessionArena::take_released(std::size_t units) {
  if (units <= kSmallUnitsMax) {
    std::uint16_t& first = small_[units - 1];
    const std::size_t unit = first;
    if (unit != 0) first = header_of(unit).next;
    return unit;
  }
  std::uint16_t* link = &large_;
  for (int looks = 0; *link != 0 && looks < kLargeLooks; ++looks) {
    Header& header = header_of(*link);
    if (header.units >= units && header.units <= 2 * units)
      return std::exchange(*link, header.next);
    link = &header.next;
  }
  return 0;
}

void* SessionArena::allocate(std::size_t size) {
  if (size > kBytes) return nullptr;
  const std::size_t units = (size + sizeof(Header) + kUnitBytes - 1) / kUnitBytes;
  std::size_t unit = take_released(units);
  if (unit == 0) {
    // (The last block ends in the first half of a unit.)
    if (top_ + units >= kUnits) return nullptr;
    unit = top_;
    top_ = static_cast<std::uint16_t>(top_ + units);
    header_of(unit).units = static_cast<std::uint16_t>(units);
  }
  header_of(unit).next = 0;
  header_of(unit).is_released = 0;
  return at(unit + 1);
}

void SessionArena::release(void* block) {
  const std::size_t unit = unit_of(block);
  Header& header = header_of(unit);
  ASSERT(unit < top_ && header.is_released == 0);
  std::uint16_t& first = header.units <= kSmallUnitsMax ? small_[header.units - 1U] : large_;
  header.next = std::exchange(first, static_cast<std::uint16_t>(unit));
  header.is_released = 1;
}

void SessionArena::clear_released() {
  std::size_t unit = (sizeof(SessionArena) + kUnitBytes - 1) / kUnitBytes;
  while (unit < top_) {
    const Header& header = header_of(unit);
    if (header.is_released != 0) {
      std::memset(at(unit + 1), 0, header.units * kUnitBytes - sizeof(Header));
    }
    unit += header.units;
  }
}

std::span<std::byte> SessionArena::used() {
  return {at(0), top_ * kUnitBytes + sizeof(Header)};
}

}  // namespace prophecy::http
