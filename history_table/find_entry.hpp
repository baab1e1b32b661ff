// The read path: a key's two buckets, looked at without a lock. If a writer holds one, or changes
// it under the reader's eyes, the reader looks again a bounded number of times, and then reports a
// miss.
#pragma once

#include <bit>
#include <optional>

#include "history_table/control.hpp"
#include "history_table/fingerprints.hpp"
#include "history_table/placing.hpp"

namespace prophecy::table {

// A change takes well under a microsecond; a writer that takes longer was scheduled away, or is
// dead, and a replicated request is cheaper than to wait for it.
constexpr unsigned kReadAttemptsMax = 64;

// What lies in a slot.
struct Sighting {
  Word state = 0;  // 0: nothing, or another key
  SlotSketches sketches{};
};

// A bit for each slot whose fingerprint is this one. `steps` is told before each load.
template <class Steps>
[[gnu::always_inline]] inline unsigned slots_with(const Bucket& bucket, std::uint32_t fingerprint,
                                                  Steps& steps) {
  const auto read = [&](std::size_t w) {
    steps.step();
    return load(bucket.fingerprints[w]);
  };
  return equal_fingerprints({read(0), read(1), read(2), read(3)}, fingerprint);
}

// A slot whose fingerprint is the tag's.
template <class Steps>
[[gnu::always_inline]] inline Sighting look(const Bucket& bucket, std::size_t at, const Tag& tag,
                                            Steps& steps) {
  const auto read = [&](const Word& word) {
    steps.step();
    return load(word);
  };
  const Word middles = read(bucket.middles[MiddleLanes::word_of(at)]);
  const Slot& slot = bucket.slots[at];
  Sighting seen{0, {read(slot.sketches[0]), read(slot.sketches[1]), read(slot.sketches[2])}};
  const bool is_its =
      MiddleLanes::get(middles, at) == tag.middle && rest_of(seen.sketches.back()) == tag.rest;
  if (is_its) seen.state = read(slot.state);
  return seen;
}

// Which of two buckets holds an entry is a matter of chance, so no branch depends on it: the
// processor would guess wrong every other time, and wait for the memory instead of going on.
template <class Steps>
std::optional<HistoryEntry> find_entry(const Region& region, const Sketch& key, Steps& steps) {
  const KeyPlace place = region.place_of(key);
  const std::array<Bucket*, 2> buckets{&region.bucket(place.first), &region.bucket(place.second)};
  std::array<Word, 2> before;
  const auto holds = [&](std::size_t i) {
    steps.step();
    const Word changed = load(buckets[i]->control) ^ before[i];
    return !is_locked(before[i]) && (changed & ~kReferencedMask) == 0;
  };
  for (unsigned attempt = 0; attempt < kReadAttemptsMax; ++attempt) {
    unsigned slots = 0;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      steps.step();
      before[i] = load(buckets[i]->control);
      slots |= slots_with(*buckets[i], place.tag.fingerprint, steps) << i * kSlotsPerBucket;
    }
    for (; slots != 0; slots &= slots - 1) {
      const auto found = static_cast<std::size_t>(std::countr_zero(slots));
      const std::size_t i = found / kSlotsPerBucket;
      const std::size_t at = found % kSlotsPerBucket;
      const Sighting seen = look(*buckets[i], at, place.tag, steps);
      if (seen.state == 0) continue;
      if (!holds(i)) break;
      // Stored only when it is not set yet, so that hot entries stay shared in all caches.
      if ((before[i] & referenced_bit(at)) == 0) {
        std::atomic_ref(buckets[i]->control)
            .fetch_or(referenced_bit(at), std::memory_order_relaxed);
      }
      return HistoryEntry{answer_of(seen.sketches), sigma_of(seen.state), mark_of(seen.state)};
    }
    // It is in neither, if neither has changed: an entry that moves changes both.
    if (slots == 0 && holds(0) && holds(1)) return std::nullopt;
    pause_briefly();
  }
  return std::nullopt;
}

}  // namespace prophecy::table
