#include "history_table/write_floors.hpp"

#include <algorithm>
#include <bit>

// Inlined: hashing some dozen bytes takes less time than the call.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/assert.hpp"

namespace prophecy {
namespace {

// One part in so many: of a large table, and of a small one up to so many words for each group.
constexpr std::size_t kShareOfLarge = 64;
constexpr std::size_t kShareOfSmall = 16;
constexpr std::size_t kSlotsOfSmallMax = 1 << 16;
// How many words of a group are looked at to tell what share of them was raised. URIs are spread by
// a hash: any part is like the whole.
constexpr std::size_t kSampleMax = 1 << 21;

}  // namespace

void raise_word(std::uint64_t& word, Sigma sigma) {
  const std::atomic_ref shared(word);
  std::uint64_t held = shared.load(std::memory_order_seq_cst);
  while (held < sigma && !shared.compare_exchange_weak(held, sigma, std::memory_order_seq_cst)) {
  }
}

std::size_t WriteFloors::slots_for(std::size_t table_bytes, std::size_t groups) {
  ASSERT(groups > 0);
  const std::size_t words = table_bytes / groups / sizeof(Word);
  const std::size_t room =
      std::max(words / kShareOfLarge, std::min(words / kShareOfSmall, kSlotsOfSmallMax));
  return std::clamp(std::bit_floor(room), kSlotsMin, kSlotsMax);
}

WriteFloors::WriteFloors(std::span<Word> words, std::uint64_t seed, Word* common)
    : words_(words), seed_(seed), common_(common) {
  ASSERT(std::has_single_bit(words.size()) && words.size() <= kSlotsMax);
}

WriteFloors::Place WriteFloors::place_of(std::string_view authority,
                                         std::string_view target) const {
  const std::uint64_t host = XXH3_64bits_withSeed(authority.data(), authority.size(), seed_);
  const std::uint64_t hash = XXH3_64bits_withSeed(target.data(), target.size(), host);
  return {static_cast<Slot>(hash & (words_.size() - 1)),
          static_cast<Partition>(hash & (kPartitions - 1))};
}

void WriteFloors::raise(Slot slot, Sigma sigma) const {
  raise_word(words_[slot], std::max(sigma, Sigma{1}));
}

double WriteFloors::share_raised() const {
  const std::size_t sample = std::min(words_.size(), kSampleMax);
  std::size_t raised = 0;
  for (Slot slot = 0; slot < sample; ++slot)
    raised += written_at(slot) != 0 ? 1 : 0;
  return static_cast<double>(raised) / static_cast<double>(sample);
}

}  // namespace prophecy
