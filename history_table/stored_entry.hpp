// Entries as they lie in the table, keys reduced to tags: what an export holds, and what goes from
// one table into another.
#pragma once

#include "history_table/key_place.hpp"
#include "history_table/layout.hpp"

namespace prophecy::table {

struct StoredEntry {
  Tag tag;
  Sketch answer{};  // all zero with a mark
  Word state = 0;   // Slot::state, and never 0

  bool operator==(const StoredEntry&) const = default;
};

// Whether it says anything: a mark, or an answer that a read can be compared with.
inline bool is_of_use(const StoredEntry& entry) {
  return mark_of(entry.state) != Mark::none || entry.answer != Sketch{};
}

// Whether a table can have such an entry.
inline bool is_possible(const StoredEntry& entry) {
  if (entry.tag.fingerprint == 0 || entry.state == 0) return false;
  if (mark_of(entry.state) == Mark::none) return sigma_of(entry.state) > 0;
  return sigma_of(entry.state) == 0 && entry.answer == Sketch{};
}

struct BucketEntries {
  std::array<StoredEntry, kSlotsPerBucket> entries;
  std::size_t count = 0;
};

}  // namespace prophecy::table
