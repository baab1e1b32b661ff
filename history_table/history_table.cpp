#include "history_table/history_table.hpp"

#include "base/assert.hpp"
#include "history_table/editor.hpp"
#include "history_table/find_entry.hpp"

namespace prophecy {
namespace {

// What one address space may be asked for; keeps sizes far from overflow.
constexpr std::size_t kBytesMax = std::size_t{1} << 46;

constexpr table::Uninterrupted kUninterrupted;

}  // namespace

Result<HistoryTable> HistoryTable::create(std::size_t bytes, std::uint64_t bucket_seed,
                                          std::size_t block_store_bytes, double limited_share) {
  if (bytes < kBytesMin || bytes > kBytesMax) {
    return Error{ErrorKind::invalid, "a history table takes from " + std::to_string(kBytesMin) +
                                         " to " + std::to_string(kBytesMax) + " bytes, not " +
                                         std::to_string(bytes)};
  }
  auto region = table::Region::map(bytes, bucket_seed);
  if (!region) return region.error();
  region->set_limited_share(limited_share);
  auto blocks = BlockStore::create(block_store_bytes);
  if (!blocks) return blocks.error();
  return HistoryTable(std::move(*region), std::move(*blocks));
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
  return table::find_entry(region_.bucket(region_.bucket_index(key)), key, kUninterrupted);
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

HistoryTableStats HistoryTable::stats() const {
  return table::stats_of(region_);
}

}  // namespace prophecy
