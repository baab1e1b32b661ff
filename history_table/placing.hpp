// Which two buckets a tag leads to. Inline, for whoever looks: a call would cost more than the
// hash, and what goes through memory on the way would keep the processor from going ahead.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "history_table/region.hpp"

namespace prophecy::table {

// Scales a hash to [0, count) by the high half of a product: no division.
inline Word scale(Word hash, Word count) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<Word>(static_cast<Wide>(hash) * count >> 64);
}

inline KeyPlace Region::place_of(const Tag& tag) const {
  const std::array<Word, 2> words{Word{tag.rest} << 32 | tag.fingerprint, tag.middle};
  const XXH128_hash_t hash = XXH3_128bits_withSeed(words.data(), sizeof words, seed_);
  return {tag, scale(hash.low64, bucket_count_), scale(hash.high64, bucket_count_)};
}

inline KeyPlace Region::place_of(const Sketch& key) const {
  return place_of(tag_of(key));
}

inline Word Region::other_bucket(Word index, const Tag& tag) const {
  const KeyPlace place = place_of(tag);
  return index == place.first ? place.second : place.first;
}

}  // namespace prophecy::table
