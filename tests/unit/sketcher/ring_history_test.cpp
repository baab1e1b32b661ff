// The hand-over of partitions between two tables, by the very objects that ring processes use.
#include "sketcher/ring/ring_history.hpp"

#include <set>

#include <catch2/catch.hpp>

#include "dht/core/hand_over.hpp"

namespace prophecy::sketcher {
namespace {

using dht::HistoryStore;

constexpr Partition kGiven = 42;
constexpr Sigma kBarrier = 1000;

Sketch numbered(std::uint64_t number) {
  Sketch sketch;
  std::uint64_t random = number * 2 + 1;
  for (std::uint8_t& byte : sketch) {
    random = random * 6364136223846793005 + 1442695040888963407;
    byte = static_cast<std::uint8_t>(random >> 56);
  }
  return sketch;
}
Sketch key_of(Partition partition, std::uint64_t number) {
  return key_in(partition, numbered(number));
}

struct HistoryMember {
  explicit HistoryMember(std::size_t bytes = std::size_t{1} << 20, std::uint32_t groups = 1)
      : table(*HistoryTable::create(bytes, 1, BlockStore::kBytesMin, HistoryTable::kLimitedShare,
                                    groups)) {
    table.set_floor_seed(5);
    table.attach(1);
    history.emplace(table, groups == 1);
  }
  void scan() {
    while (!history->is_idle())
      history->step(100);
  }
  // A page at a time, as Taker does.
  void take_from(HistoryMember& giver, Partition partition) {
    std::uint64_t cursor = 0;
    do {
      std::vector<dht::HandedFloor> page;
      cursor = giver.history->read_floors(partition, cursor, page);
      for (const dht::HandedFloor& floor : page)
        history->raise_floor(partition, floor);
    } while (cursor != 0);
    REQUIRE_FALSE(giver.history->prepare(partition));
    giver.scan();
    REQUIRE(giver.history->prepare(partition));
    do {
      std::vector<dht::HandedEntry> page;
      cursor = giver.history->read_entries(partition, cursor, page);
      CHECK(page.size() < RingHistory::kEntriesPerPage + table::kSlotsPerBucket);
      for (const dht::HandedEntry& entry : page)
        ++outcomes[static_cast<std::size_t>(history->insert(partition, entry, kBarrier))];
    } while (cursor != 0);
  }
  [[nodiscard]] std::size_t taken() const {
    return outcomes[static_cast<std::size_t>(HistoryStore::Inserted::taken)];
  }

  HistoryTable table;
  std::optional<RingHistory> history;
  std::array<std::size_t, 3> outcomes{};
};

}  // namespace

TEST_CASE("ring history: a partition's entries count at its new owner as they did at the old one") {
  HistoryMember giver, taker;
  for (std::uint64_t i = 0; i < 600; ++i) {
    const Room room = i % 10 == 0 ? Room::limited : Room::any;
    REQUIRE(giver.table.update(key_of(kGiven, i), numbered(i), i + 1, room) ==
            UpdateOutcome::inserted);
    (void)giver.table.update(key_of(kGiven + 1, i), numbered(i), i + 1);
  }
  taker.take_from(giver, kGiven);
  CHECK(taker.taken() == 600);
  for (std::uint64_t i = 0; i < 600; ++i) {
    // One of limited room gives way to the next in its buckets, as it would to an update.
    const auto entry = taker.table.lookup(key_of(kGiven, i));
    if (entry || i % 10 != 0) CHECK(entry == giver.table.lookup(key_of(kGiven, i)));
    CHECK_FALSE(taker.table.lookup(key_of(kGiven + 1, i)).has_value());
  }
  const HistoryTableStats stats = taker.table.stats();
  CHECK(stats.limited + stats.evictions == giver.table.stats().limited);
  CHECK(stats.evictions < 10);
}

TEST_CASE("ring history: marks, answers of no use and those before an import stay") {
  HistoryMember giver, taker;
  const Sketch marked = key_of(kGiven, 1), unknown = key_of(kGiven, 2), old = key_of(kGiven, 3),
               fresh = key_of(kGiven, 4);
  REQUIRE(giver.table.set_mark(marked, Mark::blacklisted) == ChangeOutcome::done);
  (void)giver.table.update(unknown, Sketch{}, 20);
  (void)giver.table.update(old, numbered(1), 10);
  (void)giver.table.update(fresh, numbered(1), 11);
  giver.table.begin_import({.behind = 10, .last = 10});
  taker.take_from(giver, kGiven);
  CHECK(taker.taken() == 1);
  CHECK(taker.table.lookup(fresh).has_value());
}

TEST_CASE("ring history: an entry beyond the barrier, or of another partition, is not taken") {
  HistoryMember taker;
  HistoryMember giver;
  (void)giver.table.update(key_of(kGiven, 1), numbered(1), kBarrier + 1);
  taker.take_from(giver, kGiven);
  CHECK(taker.outcomes[static_cast<std::size_t>(HistoryStore::Inserted::beyond)] == 1);
  dht::HandedEntry entry{.answer = numbered(1), .number = 5};
  CHECK(taker.history->insert(kGiven, entry, kBarrier) == HistoryStore::Inserted::known_newer);
  entry.tag[0] = kGiven;
  entry.number = 0;
  CHECK(taker.history->insert(kGiven, entry, kBarrier) == HistoryStore::Inserted::known_newer);
  entry.number = 5;
  CHECK(taker.history->insert(kGiven, entry, kBarrier) == HistoryStore::Inserted::taken);
  CHECK(taker.table.stats().entries == 1);
}

TEST_CASE("ring history: floors hold for the same URIs, whatever the sizes of the tables") {
  // 512 words (a word is of several partitions), 8192, and 65,536.
  const std::size_t from =
      GENERATE(std::size_t{1} << 16, std::size_t{1} << 20, std::size_t{1} << 26);
  const std::size_t to = GENERATE(std::size_t{1} << 16, std::size_t{1} << 20, std::size_t{1} << 26);
  HistoryMember giver(from), taker(to);
  const WriteFloors theirs = giver.table.floors(0), ours = taker.table.floors(0);
  std::set<Partition> partitions;
  for (Sigma i = 0; i < 300; ++i) {
    const std::string target = "/" + std::to_string(i);
    theirs.raise(theirs.slot_of("a", target), i + 1);
    partitions.insert(theirs.place_of("a", target).partition);
  }
  for (const Partition partition : partitions) {
    std::uint64_t cursor = 0;
    do {
      std::vector<dht::HandedFloor> page;
      cursor = giver.history->read_floors(partition, cursor, page);
      for (const dht::HandedFloor& floor : page)
        taker.history->raise_floor(partition, floor);
    } while (cursor != 0);
  }
  for (Sigma i = 0; i < 300; ++i) {
    const std::string target = "/" + std::to_string(i);
    CHECK(ours.at(ours.slot_of("a", target)) >= i + 1);
  }
  if (from >= to) return;
  // Other partitions have none of it.
  std::size_t raised = 0;
  for (Partition partition = 0; partition < kPartitions; ++partition) {
    const bool is_given = partitions.contains(partition);
    raised += !is_given && ours.words().size() >= kPartitions && ours.at(partition) != 0 ? 1 : 0;
  }
  CHECK(raised == 0);
}

TEST_CASE("ring history: a floor that no table has is left out") {
  HistoryMember taker;
  const WriteFloors floors = taker.table.floors(0);
  taker.history->raise_floor(kGiven, {.slot = kGiven, .floor = 7, .slot_bits = 40});
  taker.history->raise_floor(kGiven, {.slot = 1U << 13, .floor = 7, .slot_bits = 13});
  taker.history->raise_floor(kGiven, {.slot = kGiven + 1, .floor = 7, .slot_bits = 13});
  CHECK(floors.share_raised() == 0);
  taker.history->raise_floor(kGiven, {.slot = kGiven, .floor = 7, .slot_bits = 13});
  CHECK(floors.share_raised() > 0);
}

TEST_CASE("ring history: with several groups nothing is handed over") {
  HistoryMember giver(std::size_t{1} << 20, 2), taker(std::size_t{1} << 20, 2);
  (void)giver.table.update(key_of(kGiven, 1), numbered(1), 5);
  giver.table.floors(0).raise(kGiven, 9);
  std::vector<dht::HandedFloor> floors;
  std::vector<dht::HandedEntry> entries;
  CHECK(giver.history->prepare(kGiven));
  CHECK(giver.history->read_floors(kGiven, 0, floors) == 0);
  CHECK(giver.history->read_entries(kGiven, 0, entries) == 0);
  CHECK((floors.empty() && entries.empty()));
  dht::HandedEntry entry{.answer = numbered(1), .number = 5};
  entry.tag[0] = kGiven;
  CHECK(taker.history->insert(kGiven, entry, kBarrier) == HistoryStore::Inserted::known_newer);
}

TEST_CASE("ring history: what is cleared is reported, what is given is erased in the background") {
  HistoryMember member;
  for (std::uint64_t i = 0; i < 20; ++i) {
    (void)member.table.update(key_of(1, i), numbered(i), 5);
    (void)member.table.update(key_of(2, i), numbered(i), 5);
  }
  member.history->erase(1);
  member.history->clear({2, 3}, 7);
  CHECK_FALSE(member.history->take_cleared().has_value());
  member.scan();
  CHECK(member.history->take_cleared() == 7);
  CHECK_FALSE(member.history->take_cleared().has_value());
  CHECK(member.table.stats().entries == 0);
}

}  // namespace prophecy::sketcher
