// A look at all entries of one bucket, without a lock.
#pragma once

#include <optional>

#include "history_table/find_entry.hpp"
#include "history_table/stored_entry.hpp"

namespace prophecy::table {

// All of a bucket, as it stood at one instant. Nothing if writers held or changed it all the while,
// for a bounded number of tries. An entry that moves to its other bucket meanwhile may be met in
// both of two such looks, or in neither.
template <class Steps>
std::optional<BucketEntries> read_bucket(const Bucket& bucket, Steps& steps) {
  for (unsigned attempt = 0; attempt < kReadAttemptsMax; ++attempt) {
    const auto read = [&](const Word& word) {
      steps.step();
      return load(word);
    };
    const Word before = read(bucket.control);
    BucketEntries seen;
    for (std::size_t at = 0; at < kSlotsPerBucket && !is_locked(before); ++at) {
      const Slot& slot = bucket.slots[at];
      const Word state = read(slot.state);
      if (state == 0) continue;
      const Word prints = read(bucket.fingerprints[FingerprintLanes::word_of(at)]);
      const Word middles = read(bucket.middles[MiddleLanes::word_of(at)]);
      const SlotSketches words{read(slot.sketches[0]), read(slot.sketches[1]),
                               read(slot.sketches[2])};
      seen.entries[seen.count++] = {
          {static_cast<std::uint32_t>(FingerprintLanes::get(prints, at)),
           static_cast<std::uint16_t>(MiddleLanes::get(middles, at)), rest_of(words.back())},
          answer_of(words),
          state};
    }
    const Word changed = read(bucket.control) ^ before;
    if (!is_locked(before) && (changed & ~kReferencedMask) == 0) return seen;
    pause_briefly();
  }
  return std::nullopt;
}

}  // namespace prophecy::table
