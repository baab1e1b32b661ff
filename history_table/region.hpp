// The mapping that holds the table, and where a key's bucket lies in it. Owned by one object in
// each process; forked children inherit mapping and object, and each unmaps for itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/error.hpp"
#include "history_table/layout.hpp"

namespace prophecy::table {

class Region {
 public:
  // All zero: no entries, nothing locked. Requires room for the writer records and a bucket.
  [[nodiscard]] static Result<Region> map(std::size_t bytes, std::uint64_t bucket_seed);

  Region(Region&& other) noexcept;
  Region& operator=(Region&& other) noexcept;
  ~Region();

  [[nodiscard]] Word bucket_count() const { return bucket_count_; }
  // How many entries of limited room there may be.
  [[nodiscard]] Word limited_max() const { return limited_max_; }
  // Requires 0 to 1, and that nothing has changed the table yet.
  void set_limited_share(double share);
  [[nodiscard]] Word bucket_index(const Sketch& key) const;
  [[nodiscard]] Bucket& bucket(Word index) const { return buckets_[index]; }
  [[nodiscard]] WriterRecord& writer(WriterSlot slot) const { return writers_[slot]; }

 private:
  Region(void* address, std::size_t size, std::uint64_t bucket_seed);
  void swap(Region& other) noexcept;

  void* address_ = nullptr;
  std::size_t size_ = 0;  // bytes
  std::uint64_t bucket_seed_ = 0;
  WriterRecord* writers_ = nullptr;
  Bucket* buckets_ = nullptr;
  Word bucket_count_ = 0;
  Word limited_max_ = 0;
};

// At this moment: writers may be changing it.
[[nodiscard]] Word limited_entries(const Region& region);

[[nodiscard]] HistoryTableStats stats_of(const Region& region);

}  // namespace prophecy::table
