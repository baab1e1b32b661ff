// What the table keeps of a key, and where: a tag of 80 bits, and two buckets, of which either may
// hold the entry. Both follow from the tag, so an entry can move to its other bucket, or into
// another table, though its key is no longer known.
//
// The first bits of a key are its partition (partition.hpp); the others are a digest under a secret
// that clients do not know, so tags and buckets are as good as drawn at random. Two keys are taken
// for one if their tags are equal.
#pragma once

#include <bit>
#include <cstring>

#include "history_table/layout.hpp"

namespace prophecy::table {

// The lowest bits of a fingerprint.
constexpr unsigned kPartitionBits = 12;

struct Tag {
  std::uint32_t fingerprint = 0;  // never 0
  std::uint16_t middle = 0;
  std::uint32_t rest = 0;

  bool operator==(const Tag&) const = default;
};

struct KeyPlace {
  Tag tag;
  Word first = 0;   // bucket
  Word second = 0;  // bucket; may be the first one
};

// Parts of words are taken by shifting. Bytes that lie across two words which have just been stored
// would have to wait for these to leave the processor, and everything after them as well.
static_assert(std::endian::native == std::endian::little);

inline Tag tag_of(const Sketch& key) {
  Word first = 0;
  std::uint16_t last = 0;
  std::memcpy(&first, key.data(), sizeof first);
  std::memcpy(&last, key.data() + sizeof first, sizeof last);
  Tag tag{static_cast<std::uint32_t>(first), static_cast<std::uint16_t>(first >> 32),
          static_cast<std::uint32_t>(first >> 48) | std::uint32_t{last} << 16};
  if (tag.fingerprint == 0) tag.fingerprint = 1U << kPartitionBits;  // in the same partition
  return tag;
}

// ---- Slot::sketches: the answer's 20 bytes, then the tag's rest.

using SlotSketches = std::array<Word, 3>;

inline SlotSketches pack(const Tag& tag, const Sketch& answer) {
  SlotSketches words{};
  static_assert(sizeof words == sizeof answer + sizeof tag.rest);
  std::memcpy(words.data(), answer.data(), 2 * sizeof(Word));
  std::uint32_t last = 0;
  std::memcpy(&last, answer.data() + 2 * sizeof(Word), sizeof last);
  words.back() = Word{tag.rest} << 32 | last;
  return words;
}

inline std::uint32_t rest_of(Word last_word) {
  return static_cast<std::uint32_t>(last_word >> 32);
}

inline Sketch answer_of(const SlotSketches& words) {
  Sketch answer;
  const auto last = static_cast<std::uint32_t>(words.back());
  std::memcpy(answer.data(), &words[0], sizeof(Word));
  std::memcpy(answer.data() + sizeof(Word), &words[1], sizeof(Word));
  std::memcpy(answer.data() + 2 * sizeof(Word), &last, sizeof last);
  return answer;
}

}  // namespace prophecy::table
