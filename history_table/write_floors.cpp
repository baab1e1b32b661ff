#include "history_table/write_floors.hpp"

#include <algorithm>
#include <bit>

// Inlined: hashing some dozen bytes takes less time than the call.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/assert.hpp"

namespace prophecy {
namespace {

constexpr std::size_t kShareOfTable = 16;  // one part in so many, at most

}  // namespace

std::size_t WriteFloors::slots_for(std::size_t table_bytes, std::size_t groups) {
  ASSERT(groups > 0);
  const std::size_t room = table_bytes / kShareOfTable / groups / sizeof(Word);
  return std::clamp(std::bit_floor(room), kSlotsMin, kSlotsMax);
}

WriteFloors::WriteFloors(std::span<Word> words, std::uint64_t seed) : words_(words), seed_(seed) {
  ASSERT(std::has_single_bit(words.size()) && words.size() <= kSlotsMax);
}

WriteFloors::Slot WriteFloors::slot_of(std::string_view authority, std::string_view target) const {
  const std::uint64_t host = XXH3_64bits_withSeed(authority.data(), authority.size(), seed_);
  const std::uint64_t hash = XXH3_64bits_withSeed(target.data(), target.size(), host);
  return static_cast<Slot>(hash & (words_.size() - 1));
}

void WriteFloors::raise(Slot slot, Sigma sigma) const {
  const std::atomic_ref word(words_[slot]);
  Word floor = word.load(std::memory_order_seq_cst);
  while (floor < sigma && !word.compare_exchange_weak(floor, sigma, std::memory_order_seq_cst)) {
  }
}

}  // namespace prophecy
