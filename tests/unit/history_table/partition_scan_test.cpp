#include "history_table/partition_scan.hpp"

#include <atomic>
#include <set>
#include <thread>

#include <catch2/catch.hpp>

#include "support.hpp"

namespace prophecy {
namespace {

using table::answer_for;
using table::key_number;

constexpr std::uint64_t kSeed = 1;
constexpr WriterSlot kScanner = 5;
constexpr WriterSlot kKilled = 6;
constexpr Partition kGiven = 17;

Sketch numbered_key(Partition partition, std::uint64_t number) {
  return key_in(partition, key_number(number));
}

table::StoredEntry entry_of(const Sketch& key, Sigma sigma, Room room = Room::any) {
  return {table::tag_of(key), answer_for(1, sigma), table::make_state(sigma, room)};
}

HistoryTable small_table() {
  HistoryTable table = *HistoryTable::create(HistoryTable::kBytesMin, kSeed);
  table.attach(kScanner);
  return table;
}

// The table's entries, for writers in threads of their own.
table::Region region_of(const HistoryTable& table) {
  const std::span<WriteFloors::Word> floors = table.floors(0).words();
  auto* const begin = reinterpret_cast<std::byte*>(floors.data() + floors.size());
  const auto before = static_cast<std::size_t>(begin - table.companion().data());
  table::Region region(begin, table.bytes() - before, kSeed);
  REQUIRE(region.bucket_count() == table.bucket_count());
  return region;
}

// Far fewer than the table has room for.
void fill(HistoryTable& table, Partition partition, std::uint64_t entries) {
  for (std::uint64_t i = 0; i < entries; ++i)
    REQUIRE(table.update(numbered_key(partition, i), answer_for(i, 1), 1) ==
            UpdateOutcome::inserted);
}

std::size_t count(const HistoryTable& table, Partition partition) {
  std::size_t found = 0;
  for (std::uint64_t index = 0; index < table.bucket_count(); ++index) {
    const auto bucket = table.bucket_entries(index);
    REQUIRE(bucket.has_value());
    for (std::size_t i = 0; i < bucket->count; ++i)
      found += partition_of(bucket->entries[i].tag) == partition ? 1 : 0;
  }
  return found;
}

PartitionScan::Set set_of(std::initializer_list<Partition> partitions) {
  PartitionScan::Set set;
  for (const Partition partition : partitions)
    set.set(partition);
  return set;
}

}  // namespace

TEST_CASE("partition scan: a list has all entries of its partition, page by page") {
  HistoryTable table = small_table();
  fill(table, kGiven, 50);
  fill(table, 18, 50);
  PartitionScan scan(table);
  CHECK(scan.is_idle());
  scan.step(3);  // begins in the middle
  scan.list(kGiven);
  scan.list(kGiven);
  scan.step(table.bucket_count() - 1);
  CHECK_FALSE(scan.is_listed(kGiven));
  scan.step(1);
  CHECK(scan.is_listed(kGiven));
  CHECK(scan.is_idle());
  std::set<std::uint32_t> seen;
  std::uint64_t cursor = 0;
  std::size_t pages = 0;
  do {
    std::vector<table::StoredEntry> page;
    cursor = scan.read(kGiven, cursor, 10, page);
    CHECK(page.size() < 10 + table::kSlotsPerBucket);
    for (const table::StoredEntry& entry : page) {
      CHECK(partition_of(entry.tag) == kGiven);
      CHECK(seen.insert(entry.tag.rest).second);
    }
    ++pages;
  } while (cursor != 0);
  CHECK(seen.size() == 50);
  CHECK(pages > 2);
  scan.drop_list(kGiven);
  CHECK_FALSE(scan.is_listed(kGiven));
}

TEST_CASE("partition scan: one round lists what is asked for on the way, each for a round") {
  HistoryTable table = small_table();
  fill(table, 1, 20);
  fill(table, 2, 20);
  PartitionScan scan(table);
  scan.list(1);
  scan.step(10);
  scan.list(2);
  scan.list(3);
  scan.drop_list(3);
  scan.step(table.bucket_count() - 10);
  CHECK(scan.is_listed(1));
  CHECK_FALSE(scan.is_listed(2));
  scan.step(10);
  CHECK(scan.is_listed(2));
  std::vector<table::StoredEntry> entries;
  CHECK(scan.read(2, 0, 1000, entries) == 0);
  CHECK(entries.size() == 20);
}

TEST_CASE("partition scan: erasing takes a round, and leaves marks and other partitions") {
  HistoryTable table = small_table();
  fill(table, 1, 30);
  fill(table, 2, 30);
  fill(table, 3, 30);
  const Sketch marked = numbered_key(1, 1000);
  REQUIRE(table.set_mark(marked, Mark::blacklisted) == ChangeOutcome::done);
  PartitionScan scan(table);
  scan.erase(set_of({1}), 7);
  scan.step(table.bucket_count() / 2);
  scan.erase(set_of({2}), 8);
  CHECK_FALSE(scan.take_erased().has_value());
  scan.step(table.bucket_count() - table.bucket_count() / 2);
  CHECK(scan.take_erased() == 7);
  CHECK_FALSE(scan.take_erased().has_value());
  CHECK(count(table, 1) == 1);
  CHECK(table.lookup(marked)->mark == Mark::blacklisted);
  scan.step(table.bucket_count());
  CHECK(scan.take_erased() == 8);
  CHECK(scan.is_idle());
  CHECK(count(table, 2) == 0);
  CHECK(count(table, 3) == 30);
  CHECK(table.stats().entries == 31);
  // Nothing as old as what was erased is taken by an update; what is handed over is.
  CHECK(table.update(numbered_key(1, 0), answer_for(0, 0), 1) != UpdateOutcome::replaced);
  CHECK(table.take_handed(entry_of(numbered_key(1, 1), 1), 5) == HandedOutcome::taken);
  scan.erase({}, 9);
  CHECK(scan.take_erased() == 9);
}

TEST_CASE("partition scan: a bucket that another holds is visited again") {
  HistoryTable table = small_table();
  fill(table, kGiven, 30);
  // A writer that was killed under a lock.
  const table::Region region = region_of(table);
  for (std::size_t steps = 0; !table::any_locked(region); ++steps) {
    table::StopAfter stop{steps};
    REQUIRE_THROWS_AS(table::Hand(region, kKilled, stop).update_key(numbered_key(18, 0), 1),
                      table::Abandoned);
  }
  PartitionScan scan(table);
  scan.erase(set_of({kGiven}), 1);
  scan.step(2 * table.bucket_count());
  CHECK_FALSE(scan.take_erased().has_value());
  CHECK_FALSE(scan.is_idle());
  table.declare_dead(kKilled);
  scan.step(2 * table.bucket_count());
  CHECK(scan.take_erased() == 1);
  CHECK(count(table, kGiven) == 0);
}

TEST_CASE("partition scan: no entry escapes by a move, whatever writers do") {
  HistoryTable table = small_table();
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> updates{0};
  // Writers of other partitions, in a table that is always full: they make room by moving and by
  // evicting entries.
  std::vector<std::thread> writers;
  const table::Region region = region_of(table);
  const std::uint64_t capacity = table.stats().capacity;
  for (WriterSlot slot = 1; slot <= 2; ++slot) {
    writers.emplace_back([&, slot] {
      table::Hand hand(region, slot, table::kUninterrupted);
      std::uint64_t random = slot;
      while (!stop.load()) {
        const std::uint64_t number = table::next_random(random) % (2 * capacity);
        const auto partition = static_cast<Partition>(100 + number % 50);
        hand.update_key(numbered_key(partition, number), updates.fetch_add(1) + 2);
      }
    });
  }
  PartitionScan scan(table);
  for (std::uint64_t round = 1; round <= 200; ++round) {
    for (std::uint64_t i = 0; i < 200; ++i)
      table.update(numbered_key(kGiven, i), answer_for(i, 1), kSigmaMax);
    scan.erase(set_of({kGiven}), round);
    std::optional<std::uint64_t> erased;
    while (!(erased = scan.take_erased()))
      scan.step(7);
    REQUIRE(erased == round);
    std::size_t left = 0;
    for (std::uint64_t i = 0; i < 200; ++i)
      left += table.lookup(numbered_key(kGiven, i)).has_value() ? 1 : 0;
    REQUIRE(left == 0);
  }
  stop = true;
  for (std::thread& writer : writers)
    writer.join();
  CHECK(updates.load() > 1000);
}

TEST_CASE(
    "partition scan: nothing moves while a table is held still, and room is made all the same") {
  const auto region = table::small_region(3);
  table::Hand hand(region, 1, table::kUninterrupted);
  std::uint64_t key = 0;
  const auto is_full = [&] {
    const table::KeyPlace place = region.place_of(key_number(key));
    return place.first != place.second && table::room_in(region.bucket(place.first)) == 0 &&
           table::room_in(region.bucket(place.second)) == 0;
  };
  for (; !is_full(); ++key)
    hand.update(key, 100 + key);
  const bool is_still = GENERATE(true, false);
  hand.hold_still(is_still);
  CHECK(hand.update(key, 500) == UpdateOutcome::inserted);
  CHECK(table::stats_of(region).evictions == (is_still ? 1 : 0));
  hand.hold_still(false);
}

TEST_CASE("partition scan: a new one does not find the table still, whatever became of the last") {
  HistoryTable table = small_table();
  fill(table, kGiven, 10);
  {
    PartitionScan scan(table);
    scan.erase(set_of({kGiven}), 1);
    CHECK(table::load(region_of(table).still()) == 1);
  }
  CHECK(table::load(region_of(table).still()) == 0);
  table.hold_still(true);  // by one that was killed
  const PartitionScan scan(table);
  CHECK(table::load(region_of(table).still()) == 0);
}

TEST_CASE("handed entries fill gaps below the barrier alone") {
  HistoryTable table = small_table();
  const Sketch key = numbered_key(kGiven, 1);
  constexpr Sigma kBarrier = 100;
  CHECK(table.take_handed(entry_of(key, 101), kBarrier) == HandedOutcome::beyond);
  CHECK(table.take_handed(entry_of(key, 100), kBarrier) == HandedOutcome::taken);
  CHECK(table.lookup(key)->sigma == 100);
  CHECK(table.take_handed(entry_of(key, 90), kBarrier) == HandedOutcome::known);
  CHECK(table.lookup(key)->sigma == 100);
  // Forgotten before the barrier: what is handed over was accepted later than that.
  REQUIRE(table.erase(key) == ChangeOutcome::done);
  CHECK(table.take_handed(entry_of(key, 50), kBarrier) == HandedOutcome::taken);
  // Recorded since, and forgotten.
  CHECK(table.update(key, answer_for(1, 120), 120) == UpdateOutcome::replaced);
  REQUIRE(table.erase(key) == ChangeOutcome::done);
  CHECK(table.take_handed(entry_of(key, 100), kBarrier) == HandedOutcome::forgotten);
  // A mark stays.
  const Sketch marked = numbered_key(kGiven, 2);
  REQUIRE(table.set_mark(marked, Mark::whitelisted) == ChangeOutcome::done);
  CHECK(table.take_handed(entry_of(marked, 50), kBarrier) == HandedOutcome::known);
  CHECK(table.lookup(marked)->mark == Mark::whitelisted);
}

TEST_CASE("handed entries of limited room take no more than that") {
  HistoryTable table =
      *HistoryTable::create(HistoryTable::kBytesMin, 1, BlockStore::kBytesMin, 0.1);
  table.attach(kScanner);
  const std::uint64_t room = table.stats().limited_max;
  std::uint64_t taken = 0;
  for (std::uint64_t i = 0; i < 4 * room; ++i) {
    const auto outcome = table.take_handed(entry_of(numbered_key(kGiven, i), 1, Room::limited), 5);
    taken += outcome == HandedOutcome::taken ? 1 : 0;
  }
  CHECK(taken >= room / 2);
  CHECK(table.stats().limited <= room);
}

}  // namespace prophecy
