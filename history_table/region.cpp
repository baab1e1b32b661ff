#include "history_table/region.hpp"

#include <sys/mman.h>
#include <xxhash.h>

#include "base/assert.hpp"

namespace prophecy::table {
namespace {

constexpr std::size_t kRecordsSize = kWriterRecords * sizeof(WriterRecord);
static_assert(kRecordsSize % sizeof(Bucket) == 0, "buckets must start at a cache line");

}  // namespace

Result<Region> Region::map(std::size_t bytes, std::uint64_t bucket_seed) {
  ASSERT(bytes >= kRecordsSize + sizeof(Bucket));
  // Populated at once: a machine that is too small shows it at the start and not as a SIGBUS
  // under load.
  void* const address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (address == MAP_FAILED) {
    return io_error("cannot map " + std::to_string(bytes) + " bytes for the history table");
  }
  return Region(address, bytes, bucket_seed);
}

Region::Region(void* address, std::size_t size, std::uint64_t bucket_seed)
    : address_(address),
      size_(size),
      bucket_seed_(bucket_seed),
      writers_(static_cast<WriterRecord*>(address)),
      buckets_(reinterpret_cast<Bucket*>(static_cast<std::byte*>(address) + kRecordsSize)),
      bucket_count_((size - kRecordsSize) / sizeof(Bucket)) {}

Region::Region(Region&& other) noexcept {
  swap(other);
}

Region& Region::operator=(Region&& other) noexcept {
  swap(other);
  return *this;
}

Region::~Region() {
  if (address_ != nullptr) ::munmap(address_, size_);
}

void Region::swap(Region& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(size_, other.size_);
  std::swap(bucket_seed_, other.bucket_seed_);
  std::swap(writers_, other.writers_);
  std::swap(buckets_, other.buckets_);
  std::swap(bucket_count_, other.bucket_count_);
  std::swap(limited_max_, other.limited_max_);
}

void Region::set_limited_share(double share) {
  ASSERT(share >= 0 && share <= 1);
  limited_max_ = static_cast<Word>(share * static_cast<double>(bucket_count_ * kSlotsPerBucket));
}

Word Region::bucket_index(const Sketch& key) const {
  const Word hash = XXH3_64bits_withSeed(key.data(), key.size(), bucket_seed_);
  // Scales the hash to [0, bucket_count) by the high half of a product: no division.
  __extension__ using Wide = unsigned __int128;
  return static_cast<Word>(static_cast<Wide>(hash) * bucket_count_ >> 64);
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
    WriterRecord& writer = region.writer(static_cast<WriterSlot>(slot));
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
