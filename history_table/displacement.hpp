// Room for a new entry in two full buckets: one of theirs moves to its own other bucket, if that
// has room. One move is enough: a table of 1 GiB that is offered 25 million keys keeps all but
// 0.001 % of them (docs/history-table.md).
#pragma once

#include "history_table/bucket_change.hpp"

namespace prophecy::table {

// The slot that has become empty. Requires that the two buckets of one key are held, and full.
template <class Steps>
std::optional<Place> displace(const Region& region, BucketChange<Steps>& change) {
  // All are fetched first: each is likely to be a miss of the caches.
  std::array<Word, 2 * kSlotsPerBucket> others;
  const std::size_t slots = change.held() * kSlotsPerBucket;
  const auto place = [](std::size_t i) { return Place{i / kSlotsPerBucket, i % kSlotsPerBucket}; };
  for (std::size_t i = 0; i < slots; ++i) {
    const Place from = place(i);
    others[i] = region.other_bucket(change.index(from.held), change.tag(from));
    __builtin_prefetch(&region.bucket(others[i]));
  }
  const Word first = change.index(0);
  const Word second = change.index(change.held() - 1);
  for (std::size_t i = 0; i < slots; ++i) {
    if (others[i] == first || others[i] == second) continue;
    if (room_in(region.bucket(others[i])) == 0) continue;
    if (!change.try_lock(others[i])) continue;
    if (load(region.still()) != 0) {
      change.unlock_last();
      return std::nullopt;
    }
    if (const auto to = change.find_empty()) {
      change.move(place(i), *to);
      return place(i);
    }
    change.unlock_last();  // it has filled meanwhile
  }
  return std::nullopt;
}

}  // namespace prophecy::table
