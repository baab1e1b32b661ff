// What the table keeps of a key, and where: a tag of 80 bits, and two buckets, of which either may
// hold the entry. The two follow from each other and the tag, so an entry can move to its other
// bucket though its key is no longer known.
//
// Keys are digests under a secret that clients do not know, so tags and buckets are as good as
// drawn at random. Two keys are taken for one only if their tags are equal and they share a bucket.
#pragma once

#include <cstring>

#include "history_table/layout.hpp"

namespace prophecy::table {

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

inline Tag tag_of(const Sketch& key) {
  Tag tag;
  std::memcpy(&tag.fingerprint, key.data(), sizeof tag.fingerprint);
  std::memcpy(&tag.middle, key.data() + 4, sizeof tag.middle);
  std::memcpy(&tag.rest, key.data() + 6, sizeof tag.rest);
  if (tag.fingerprint == 0) tag.fingerprint = 1;
  return tag;
}

// ---- Slot::sketches: the answer's 20 bytes, then the tag's rest.

using SlotSketches = std::array<Word, 3>;

inline SlotSketches pack(const Tag& tag, const Sketch& answer) {
  SlotSketches words;
  static_assert(sizeof words == sizeof answer + sizeof tag.rest);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(words.data());
  std::memcpy(bytes, answer.data(), answer.size());
  std::memcpy(bytes + answer.size(), &tag.rest, sizeof tag.rest);
  return words;
}

inline std::uint32_t rest_of(Word last_word) {
  std::uint32_t rest;
  std::memcpy(&rest, reinterpret_cast<const std::uint8_t*>(&last_word) + 4, sizeof rest);
  return rest;
}

inline Sketch answer_of(const SlotSketches& words) {
  Sketch answer;
  std::memcpy(answer.data(), words.data(), answer.size());
  return answer;
}

}  // namespace prophecy::table
