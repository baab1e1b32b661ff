#include "sketcher/ring/ring_history.hpp"

#include <algorithm>
#include <bit>

#include "base/assert.hpp"

namespace prophecy::sketcher {
namespace {

// Of floors, for one page: most words of a table were never raised.
constexpr std::uint64_t kWordsPerPage = 1 << 16;

std::array<std::uint8_t, 10> bytes_of(const table::Tag& tag) {
  std::array<std::uint8_t, 10> bytes;
  const auto put = [&](std::size_t at, std::size_t size, std::uint32_t value) {
    for (std::size_t i = 0; i < size; ++i)
      bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
  };
  put(0, 4, tag.fingerprint);
  put(4, 2, tag.middle);
  put(6, 4, tag.rest);
  return bytes;
}

table::Tag tag_of(const std::array<std::uint8_t, 10>& bytes) {
  const auto get = [&](std::size_t at, std::size_t size) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
      value |= std::uint32_t{bytes[at + i]} << (8 * i);
    return value;
  };
  return {get(0, 4), static_cast<std::uint16_t>(get(4, 2)), get(6, 4)};
}

// The words that a partition's floors lie in: from the first one on, so far apart.
struct Words {
  std::uint64_t first;
  std::uint64_t stride;
};
Words words_of(Partition partition, std::uint64_t words) {
  if (words >= kPartitions) return {partition, kPartitions};
  return {partition & (words - 1), words};
}

}  // namespace

RingHistory::RingHistory(HistoryTable& table, std::uint32_t groups, const OwnNumbers* own)
    : table_(table), own_(own), scan_(table) {
  for (std::uint32_t group = 0; group < groups; ++group)
    floors_.push_back(table.floors(group));
}

std::optional<dht::OrderNumber> RingHistory::own_newest() const {
  return own_ != nullptr ? std::optional(own_->newest()) : std::nullopt;
}

Sigma RingHistory::written_at(WriteFloors::Slot slot) const {
  Sigma newest = 0;
  for (const WriteFloors& floors : floors_)
    newest = std::max(newest, floors.written_at(slot));
  return newest;
}

void RingHistory::clear(const std::vector<Partition>& partitions, std::uint64_t ticket) {
  ASSERT(ticket != kNoTicket);
  PartitionScan::Set set;
  for (const Partition partition : partitions) {
    set.set(partition);
    given_.reset(partition);
    scan_.drop_list(partition);
  }
  scan_.erase(set, ticket);
}

void RingHistory::step(std::uint64_t buckets) {
  if (given_.any() && !is_erasing_given_) {
    scan_.erase(given_, kNoTicket);
    given_.reset();
    is_erasing_given_ = true;
  }
  scan_.step(buckets);
}

std::optional<std::uint64_t> RingHistory::take_cleared() {
  while (const auto ticket = scan_.take_erased()) {
    if (*ticket != kNoTicket) return ticket;
    is_erasing_given_ = false;
  }
  return std::nullopt;
}

bool RingHistory::prepare(Partition partition) {
  scan_.list(partition);
  return scan_.is_listed(partition);
}

std::uint64_t RingHistory::read_floors(Partition partition, std::uint64_t cursor,
                                       std::vector<dht::HandedFloor>& page) {
  const std::uint64_t count = words();
  const Words words = words_of(partition, count);
  const auto bits = static_cast<std::uint8_t>(std::countr_zero(count));
  const std::uint64_t begin = std::min(cursor, count);
  std::uint64_t slot = std::max(begin, words.first);
  for (; slot < count && page.size() < kFloorsPerPage; slot += words.stride) {
    if (slot - begin >= kWordsPerPage * words.stride) break;
    const Sigma floor = written_at(static_cast<WriteFloors::Slot>(slot));
    if (floor == 0) continue;
    page.push_back({.slot = static_cast<std::uint32_t>(slot), .floor = floor, .slot_bits = bits});
  }
  return slot < count ? slot : 0;
}

std::uint64_t RingHistory::read_entries(Partition partition, std::uint64_t cursor,
                                        std::vector<dht::HandedEntry>& page) {
  if (!scan_.is_listed(partition)) return 0;
  std::vector<table::StoredEntry> entries;
  const std::uint64_t next = scan_.read(partition, cursor, kEntriesPerPage, entries);
  const Sigma common = floors_.front().common();
  for (const table::StoredEntry& entry : entries) {
    const Sigma sigma = table::sigma_of(entry.state);
    const bool is_answer = table::mark_of(entry.state) == Mark::none && table::is_of_use(entry);
    if (!is_answer || sigma <= common) continue;
    page.push_back({.tag = bytes_of(entry.tag),
                    .answer = entry.answer,
                    .number = sigma,
                    .is_limited = table::is_limited(entry.state)});
  }
  return next;
}

// Our table may have more words than theirs, or fewer: each word that a URI with this floor may
// have here is raised.
void RingHistory::raise_floor(Partition partition, const dht::HandedFloor& floor) {
  constexpr unsigned kBitsMax = std::countr_zero(WriteFloors::kSlotsMax);
  if (floor.slot_bits > kBitsMax) return;
  const std::uint64_t theirs = std::uint64_t{1} << floor.slot_bits;
  const Words their_words = words_of(partition, theirs);
  const bool is_possible =
      floor.slot < theirs && floor.slot % their_words.stride == their_words.first;
  if (!is_possible) return;
  const std::uint64_t ours = words();
  const Words own = words_of(partition, ours);
  // Of a URI, both are the low bits of one hash; so is the partition.
  const std::uint64_t first = theirs >= kPartitions ? floor.slot & (ours - 1) : own.first;
  const std::uint64_t stride = std::max(theirs, own.stride);
  for (const WriteFloors& floors : floors_) {
    for (std::uint64_t slot = first; slot < ours; slot += stride)
      floors.raise(static_cast<WriteFloors::Slot>(slot), std::min(floor.floor, kSigmaMax));
  }
}

dht::HistoryStore::Inserted RingHistory::insert(Partition partition, const dht::HandedEntry& entry,
                                                dht::OrderNumber barrier) {
  if (entry.number > std::min(barrier, kSigmaMax)) return Inserted::beyond;
  const table::StoredEntry stored{
      tag_of(entry.tag), entry.answer,
      table::make_state(entry.number, entry.is_limited ? Room::limited : Room::any)};
  const bool is_right = table::is_possible(stored) && table::is_of_use(stored) &&
                        partition_of(stored.tag) == partition;
  if (!is_right) return Inserted::known_newer;
  const HandedOutcome outcome = table_.take_handed(stored, barrier);
  return outcome == HandedOutcome::taken ? Inserted::taken : Inserted::known_newer;
}

void RingHistory::erase(Partition partition) {
  scan_.drop_list(partition);
  given_.set(partition);
}

}  // namespace prophecy::sketcher
