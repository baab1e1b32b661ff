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

void raise_word(std::uint64_t& word, Sigma sigma) {
  const std::atomic_ref shared(word);
  std::uint64_t held = shared.load(std::memory_order_seq_cst);
  while (held < sigma && !shared.compare_exchange_weak(held, sigma, std::memory_order_seq_cst)) {
  }
}

std::size_t WriteFloors::slots_for(std::size_t table_bytes, std::size_t groups) {
  ASSERT(groups > 0);
  const std::size_t room = table_bytes / kShareOfTable / groups / sizeof(Word);
  return std::clamp(std::bit_floor(room), kSlotsMin, kSlotsMax);
}

WriteFloors::WriteFloors(std::span<Word> words, std::uint64_t seed, Word* common)
    : words_(words), seed_(seed), common_(common) {
  ASSERT(std::has_single_bit(words.size()) && words.size() <= kSlotsMax);
}

WriteFloors::Slot WriteFloors::slot_of(std::string_view authority, std::string_view target) const {
  const std::uint64_t host = XXH3_64bits_withSeed(authority.data(), authority.size(), seed_);
  const std::uint64_t hash = XXH3_64bits_withSeed(target.data(), target.size(), host);
  return static_cast<Slot>(hash & (words_.size() - 1));
}

void WriteFloors::raise(Slot slot, Sigma sigma) const {
  raise_word(words_[slot], sigma);
}

}  // namespace prophecy
