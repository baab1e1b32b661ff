// The table in its memory: the writers' records, the buckets, and where a key's entry may lie. A
// view; the memory is somebody else's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "history_table/key_place.hpp"
#include "history_table/layout.hpp"

namespace prophecy::table {

class Region {
 public:
  static constexpr std::size_t kBytesMin = kWriterRecords * sizeof(WriterRecord) + sizeof(Bucket);
  static constexpr std::size_t kAlignment = alignof(WriterRecord);

  // `memory` is aligned to that, and is all zero (no entries, nothing locked), or what a region
  // of the same size and seed has left. Requires kBytesMin.
  Region(std::byte* memory, std::size_t bytes, std::uint64_t seed);

  [[nodiscard]] Word bucket_count() const { return bucket_count_; }
  [[nodiscard]] Bucket& bucket(Word index) const { return buckets_[index]; }
  [[nodiscard]] WriterRecord& writer(WriterSlot slot) const { return writers_[slot]; }

  // Writers move no entry while this word is not 0. A writer reads it once it holds both buckets,
  // so a scan that sets it, and then locks one bucket after the other, misses no entry.
  [[nodiscard]] Word& still() const { return writers_[0].still; }

  // How many entries of limited room there may be.
  [[nodiscard]] Word limited_max() const { return limited_max_; }
  // Requires 0 to 1, and that nothing is changing the table yet.
  void set_limited_share(double share);

  // Defined in placing.hpp.
  [[nodiscard]] KeyPlace place_of(const Sketch& key) const;
  [[nodiscard]] KeyPlace place_of(const Tag& tag) const;
  // Where else an entry with this tag may lie.
  [[nodiscard]] Word other_bucket(Word index, const Tag& tag) const;

 private:
  std::uint64_t seed_;
  WriterRecord* writers_;
  Bucket* buckets_;
  Word bucket_count_;
  Word limited_max_ = 0;
};

// At this moment: writers may be changing it.
[[nodiscard]] Word limited_entries(const Region& region);

[[nodiscard]] HistoryTableStats stats_of(const Region& region);

}  // namespace prophecy::table
