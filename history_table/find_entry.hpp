// The read path: one bucket, looked at without a lock. If a writer holds it, or changes it under
// the reader's eyes, the reader looks again a bounded number of times, and then reports a miss.
#pragma once

#include <optional>

#include "history_table/control.hpp"
#include "history_table/layout.hpp"

namespace prophecy::table {

// A change takes well under a microsecond; a writer that takes longer was scheduled away, or is
// dead, and a replicated request is cheaper than to wait for it.
constexpr unsigned kReadAttemptsMax = 64;

// What one look at a bucket found; meaningful only if its control word was the same before
// and after.
struct Sighting {
  Word state = 0;  // 0: the key is not there
  std::array<Word, 5> sketches{};
  std::size_t slot = 0;
};

template <class Steps>
Sighting look(Bucket& bucket, const Sketch& key, Steps& steps) {
  const Word first_word = pack(key, Sketch{})[0];
  for (std::size_t i = 0; i < kSlotsPerBucket; ++i) {
    Slot& slot = bucket.slots[i];
    steps.step();
    if (load(slot.sketches[0]) != first_word) continue;
    Sighting seen{0, {first_word}, i};
    for (std::size_t w = 1; w < seen.sketches.size(); ++w) {
      steps.step();
      seen.sketches[w] = load(slot.sketches[w]);
    }
    steps.step();
    seen.state = load(slot.state);
    if (seen.state != 0 && key_of(seen.sketches) == key) return seen;
  }
  return {};
}

// `steps` is told before each load.
template <class Steps>
std::optional<HistoryEntry> find_entry(Bucket& bucket, const Sketch& key, Steps& steps) {
  for (unsigned attempt = 0; attempt < kReadAttemptsMax; ++attempt) {
    steps.step();
    const Word before = load(bucket.control);
    if (is_locked(before)) {
      pause_briefly();
      continue;
    }
    const Sighting seen = look(bucket, key, steps);
    steps.step();
    const Word after = load(bucket.control);
    if (((before ^ after) & ~kReferencedMask) != 0) continue;
    if (seen.state == 0) return std::nullopt;
    // Stored only when it is not set yet, so that hot entries stay shared in all caches.
    if ((after & referenced_bit(seen.slot)) == 0) {
      std::atomic_ref(bucket.control)
          .fetch_or(referenced_bit(seen.slot), std::memory_order_relaxed);
    }
    return HistoryEntry{answer_of(seen.sketches), sigma_of(seen.state), mark_of(seen.state)};
  }
  return std::nullopt;
}

}  // namespace prophecy::table
