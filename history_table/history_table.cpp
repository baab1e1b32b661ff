#include "history_table/history_table.hpp"

#include "base/assert.hpp"
#include "history_table/bucket_entries.hpp"
#include "history_table/editor.hpp"
#include "history_table/find_entry.hpp"

namespace prophecy {
namespace {

// What one address space may be asked for; keeps sizes far from overflow.
constexpr std::size_t kBytesMax = std::size_t{1} << 46;

constexpr table::Uninterrupted kUninterrupted;

std::optional<Error> mistake_in(std::size_t bytes) {
  if (bytes >= HistoryTable::kBytesMin && bytes <= kBytesMax) return std::nullopt;
  return Error{ErrorKind::invalid,
               "a history table takes from " + std::to_string(HistoryTable::kBytesMin) + " to " +
                   std::to_string(kBytesMax) + " bytes, not " + std::to_string(bytes)};
}

}  // namespace

static_assert(HistoryTable::kBytesMin >=
              table::KeptFile::kHeaderBytes + HistoryTable::kCompanionBytes +
                  HistoryTable::kImportedBytes + HistoryTable::kFloorBytesMin +
                  table::Region::kBytesMin);
static_assert((table::KeptFile::kHeaderBytes + HistoryTable::kCompanionBytes +
               HistoryTable::kImportedBytes) %
                  table::Region::kAlignment ==
              0);

Result<HistoryTable> HistoryTable::create(std::size_t bytes, std::uint64_t bucket_seed,
                                          std::size_t block_store_bytes, double limited_share,
                                          std::uint32_t groups) {
  if (auto mistake = mistake_in(bytes)) return std::move(*mistake);
  auto memory = table::Memory::anonymous(bytes);
  if (!memory) return memory.error();
  auto blocks = BlockStore::create(block_store_bytes);
  if (!blocks) return blocks.error();
  return HistoryTable(std::move(*memory), 0, bucket_seed, std::move(*blocks), limited_share,
                      groups);
}

Result<HistoryTable> HistoryTable::open(const std::filesystem::path& path, std::size_t bytes,
                                        const table::Identity& identity, std::uint64_t bucket_seed,
                                        std::size_t block_store_bytes, double limited_share,
                                        std::uint32_t groups) {
  if (auto mistake = mistake_in(bytes)) return std::move(*mistake);
  auto blocks = BlockStore::create(block_store_bytes);
  if (!blocks) return blocks.error();
  table::Identity shaped = identity;
  shaped.group_count = groups;
  auto opened = table::KeptFile::open(path, bytes, shaped, bucket_seed);
  if (!opened) return opened.error();
  HistoryTable made(std::move(opened->memory), table::KeptFile::kHeaderBytes, opened->seed,
                    std::move(*blocks), limited_share, groups);
  made.file_ = std::move(opened->file);
  made.origin_ = {opened->is_warm, std::move(opened->emptied_for)};
  // Whoever wrote there has gone, with the lock on the file.
  for (WriterSlot slot = 0; slot <= kWriterSlotMax; ++slot)
    made.declare_dead(slot);
  return made;
}

HistoryTable::HistoryTable(table::Memory memory, std::size_t header_bytes,
                           std::uint64_t bucket_seed, BlockStore blocks, double limited_share,
                           std::uint32_t groups)
    : memory_(std::move(memory)),
      begin_(memory_.address() + header_bytes),
      floor_seed_(bucket_seed),
      groups_(groups),
      floor_slots_(WriteFloors::slots_for(memory_.size(), groups)),
      region_(begin_ + kCompanionBytes + kImportedBytes + floor_bytes(),
              memory_.size() - header_bytes - kCompanionBytes - kImportedBytes - floor_bytes(),
              bucket_seed),
      blocks_(std::move(blocks)) {
  region_.set_limited_share(limited_share);
  table::store(kUninterrupted, region_.still(), 0);  // whoever held it still has gone
}

Result<> HistoryTable::close() {
  return file_ ? file_->close(memory_) : Result<>();
}

std::span<std::byte, HistoryTable::kCompanionBytes> HistoryTable::companion() const {
  return std::span<std::byte, kCompanionBytes>(begin_, kCompanionBytes);
}

std::size_t HistoryTable::floor_bytes() const {
  const std::size_t bytes = groups_ * floor_slots_ * sizeof(WriteFloors::Word);
  return (bytes + table::Region::kAlignment - 1) / table::Region::kAlignment *
         table::Region::kAlignment;
}

WriteFloors HistoryTable::floors(std::uint32_t group) const {
  ASSERT(group < groups_);
  auto* const words =
      reinterpret_cast<WriteFloors::Word*>(begin_ + kCompanionBytes + kImportedBytes);
  return WriteFloors({words + group * floor_slots_, floor_slots_}, floor_seed_, imported_words());
}

double HistoryTable::floors_raised() const {
  double sum = 0;
  for (std::uint32_t group = 0; group < groups_; ++group)
    sum += floors(group).share_raised();
  return sum / groups_;
}

WriteFloors::Word* HistoryTable::imported_words() const {
  return reinterpret_cast<WriteFloors::Word*>(begin_ + kCompanionBytes);
}

HistoryTable::Imported HistoryTable::imported() const {
  WriteFloors::Word* const words = imported_words();
  return {std::atomic_ref(words[0]).load(), std::atomic_ref(words[1]).load()};
}

void HistoryTable::begin_import(const Imported& range) {
  ASSERT(range.behind <= range.last);
  // The end first: what lies between is never taken for what was agreed on here.
  raise_word(imported_words()[1], range.last);
  raise_word(imported_words()[0], range.behind);
}

void HistoryTable::attach(WriterSlot slot) {
  ASSERT(slot <= kWriterSlotMax);
  table::BucketChange left_behind(region_, slot, kUninterrupted);
  ASSERT(!left_behind.take_over());
  writer_ = slot;
}

void HistoryTable::declare_dead(WriterSlot slot) {
  ASSERT(slot <= kWriterSlotMax);
  table::Editor(region_, slot, kUninterrupted).clean_up();
}

std::optional<HistoryEntry> HistoryTable::lookup(const Sketch& key) const {
  return table::find_entry(region_, key, kUninterrupted);
}

void HistoryTable::prefetch(const Sketch& key) const {
  const table::KeyPlace place = region_.place_of(key);
  __builtin_prefetch(&region_.bucket(place.first));
  __builtin_prefetch(&region_.bucket(place.second));
}

void HistoryTable::prefetch_entry(const Sketch& key) const {
  const table::KeyPlace place = region_.place_of(key);
  for (const table::Word index : {place.first, place.second}) {
    const table::Bucket& bucket = region_.bucket(index);
    unsigned slots = table::slots_with(bucket, place.tag.fingerprint, kUninterrupted);
    for (; slots != 0; slots &= slots - 1)
      __builtin_prefetch(&bucket.slots[static_cast<std::size_t>(std::countr_zero(slots))]);
  }
}

UpdateOutcome HistoryTable::update(const Sketch& key, const Sketch& answer, Sigma sigma,
                                   Room room) {
  ASSERT(writer_);
  return table::Editor(region_, *writer_, kUninterrupted)
      .update(key, answer, sigma, kSigmaMax, room);
}

UpdateOutcome HistoryTable::update_unordered(const Sketch& key, const Sketch& answer, Sigma asked,
                                             Sigma sigma, Room room) {
  ASSERT(writer_ && asked < sigma);
  return table::Editor(region_, *writer_, kUninterrupted).update(key, answer, sigma, asked, room);
}

ChangeOutcome HistoryTable::set_mark(const Sketch& key, Mark mark) {
  ASSERT(writer_);
  return table::Editor(region_, *writer_, kUninterrupted).set_mark(key, mark);
}

ChangeOutcome HistoryTable::erase(const Sketch& key) {
  ASSERT(writer_);
  return table::Editor(region_, *writer_, kUninterrupted).erase(key);
}

std::optional<table::BucketEntries> HistoryTable::bucket_entries(std::uint64_t index) const {
  ASSERT(index < bucket_count());
  return table::read_bucket(region_.bucket(index), kUninterrupted);
}

SeedOutcome HistoryTable::seed(const table::StoredEntry& entry) {
  ASSERT(writer_ && table::is_possible(entry));
  return table::Editor(region_, *writer_, kUninterrupted).seed(entry);
}

HandedOutcome HistoryTable::take_handed(const table::StoredEntry& entry, Sigma barrier) {
  ASSERT(writer_ && table::is_possible(entry) && table::mark_of(entry.state) == Mark::none);
  return table::Editor(region_, *writer_, kUninterrupted).take_handed(entry, barrier);
}

ChangeOutcome HistoryTable::erase_in_bucket(std::uint64_t index,
                                            const std::bitset<kPartitions>& partitions) {
  ASSERT(writer_ && index < bucket_count());
  return table::Editor(region_, *writer_, kUninterrupted)
      .erase_in_bucket(index,
                       [&](const table::Tag& tag) { return partitions.test(partition_of(tag)); });
}

void HistoryTable::hold_still(bool is_still) {
  ASSERT(writer_);
  table::Editor(region_, *writer_, kUninterrupted).hold_still(is_still);
}

HistoryTableStats HistoryTable::stats() const {
  return table::stats_of(region_);
}

}  // namespace prophecy
