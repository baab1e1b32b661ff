#include "history_table/region.hpp"

#include "base/assert.hpp"

namespace prophecy::table {
namespace {

constexpr std::size_t kRecordsSize = kWriterRecords * sizeof(WriterRecord);
static_assert(kRecordsSize % alignof(Bucket) == 0, "buckets must start at a cache line");

}  // namespace

Region::Region(std::byte* memory, std::size_t bytes, std::uint64_t seed)
    : seed_(seed),
      writers_(reinterpret_cast<WriterRecord*>(memory)),
      buckets_(reinterpret_cast<Bucket*>(memory + kRecordsSize)),
      bucket_count_((bytes - kRecordsSize) / sizeof(Bucket)) {
  ASSERT(bytes >= kBytesMin);
  ASSERT(reinterpret_cast<std::uintptr_t>(memory) % kAlignment == 0);
}

void Region::set_limited_share(double share) {
  ASSERT(share >= 0 && share <= 1);
  limited_max_ = static_cast<Word>(share * static_cast<double>(bucket_count_ * kSlotsPerBucket));
}

Word limited_entries(const Region& region) {
  Word limited = 0;
  for (std::size_t slot = 0; slot < kWriterRecords; ++slot)
    limited += load(region.writer(static_cast<WriterSlot>(slot)).limited);
  // As in stats_of() below.
  return static_cast<std::int64_t>(limited) < 0 ? 0 : limited;
}

HistoryTableStats stats_of(const Region& region) {
  HistoryTableStats stats;
  stats.capacity = region.bucket_count() * kSlotsPerBucket;
  std::uint64_t entries = 0;
  for (std::size_t slot = 0; slot < kWriterRecords; ++slot) {
    const WriterRecord& writer = region.writer(static_cast<WriterSlot>(slot));
    entries += load(writer.entries);
    stats.evictions += load(writer.evictions);
    stats.recoveries += load(writer.recoveries);
  }
  // The records are read one after the other while writers go on: an entry removed by one
  // writer before its insertion by another is seen would make the sum negative.
  stats.entries = static_cast<std::int64_t>(entries) < 0 ? 0 : entries;
  stats.limited = limited_entries(region);
  stats.limited_max = region.limited_max();
  return stats;
}

}  // namespace prophecy::table
