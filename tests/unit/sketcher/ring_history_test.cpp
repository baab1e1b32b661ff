// The hand-over of partitions between two tables, by the very objects that ring processes use.
#include "sketcher/ring/ring_history.hpp"

#include <set>

#include <catch2/catch.hpp>

#include "dht/core/hand_over.hpp"
#include "dht/core/handed_numbers.hpp"

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
    history.emplace(table, groups, nullptr);
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

TEST_CASE("ring history: with several groups, a floor of one holds for all") {
  HistoryMember giver(std::size_t{1} << 22, 2), taker(std::size_t{1} << 22, 2);
  giver.table.floors(0).raise(kGiven, 9);
  giver.table.floors(1).raise(kGiven, 8);
  giver.table.floors(1).raise(kGiven + kPartitions, 7);
  taker.take_from(giver, kGiven);
  for (const std::uint32_t group : {0U, 1U}) {
    CHECK(taker.table.floors(group).at(kGiven) == 9);
    CHECK(taker.table.floors(group).at(kGiven + kPartitions) == 7);
  }
}

// A member that counts for itself: its groups have an order, or votes.
struct CountingMember {
  explicit CountingMember(std::vector<GroupKind> kinds)
      : table(*HistoryTable::create(std::size_t{1} << 22, 1, BlockStore::kBytesMin,
                                    HistoryTable::kLimitedShare,
                                    static_cast<std::uint32_t>(kinds.size()))),
        shared(*SharedState::map(
            {.workers = 1, .groups = static_cast<std::uint32_t>(kinds.size()), .routes = 1},
            table.companion())) {
    table.set_floor_seed(5);
    table.attach(1);
    settings.groups.resize(kinds.size());
    for (std::size_t i = 0; i < kinds.size(); ++i)
      settings.groups[i].kind = kinds[i];
    own.emplace(settings, shared);
    history.emplace(table, static_cast<std::uint32_t>(kinds.size()), &*own);
  }
  [[nodiscard]] GroupNumbers& numbers(std::uint32_t group) const {
    return *shared.group(group).numbers;
  }
  // An answer of that group, in whose own order it is the `sigma`th.
  UpdateOutcome answer(std::uint32_t group, std::uint64_t key, std::uint64_t content, Sigma sigma) {
    SigmaOrder& order = numbers(group).order;
    const bool is_ordered = settings.groups[group].kind == GroupKind::pbft;
    const Sigma number =
        is_ordered ? order.place(order.submit(), sigma).sigma : numbers(group).votes.next();
    return table.update(key_of(kGiven, key), numbered(content), number);
  }
  void write(std::uint32_t group, WriteFloors::Slot slot) {
    const bool is_ordered = settings.groups[group].kind == GroupKind::pbft;
    table.floors(group).raise_unordered(slot, [&] {
      return is_ordered ? numbers(group).order.newest() : numbers(group).votes.next();
    });
  }
  [[nodiscard]] std::optional<Sketch> counted(std::uint32_t group, std::uint64_t key,
                                              WriteFloors::Slot slot) {
    const auto entry = table.floors(group).admit(table.lookup(key_of(kGiven, key)), slot);
    return entry ? std::optional(entry->answer) : std::nullopt;
  }
  // As Giver and Taker do.
  void take_from(CountingMember& giver, Sigma barrier) {
    std::vector<dht::HandedFloor> floors;
    REQUIRE(giver.history->read_floors(kGiven, 0, floors) == 0);
    for (dht::HandedFloor floor : floors) {
      floor.floor = over(giver, floor.floor, barrier);
      if (floor.floor != 0) history->raise_floor(kGiven, floor);
    }
    (void)giver.history->prepare(kGiven);
    while (!giver.history->is_idle())
      giver.history->step(100);
    std::vector<dht::HandedEntry> entries;
    REQUIRE(giver.history->read_entries(kGiven, 0, entries) == 0);
    for (dht::HandedEntry entry : entries) {
      entry.number = over(giver, entry.number, barrier);
      if (entry.number != 0) (void)history->insert(kGiven, entry, barrier);
    }
  }
  static Sigma over(const CountingMember& giver, Sigma number, Sigma barrier) {
    return dht::taken_number(dht::handed_number(number, *giver.history->own_newest()), barrier);
  }

  HistoryTable table;
  SharedState shared;
  Settings settings;
  std::optional<OwnNumbers> own;
  std::optional<RingHistory> history;
};

TEST_CASE("ring history: members that count for themselves hand over what counts") {
  const GroupKind kind = GENERATE(GroupKind::pbft, GroupKind::vote);
  CountingMember giver({kind, GroupKind::vote}), taker({kind, GroupKind::vote});
  constexpr WriteFloors::Slot kWritten = kGiven, kOther = kGiven + kPartitions;
  // The groups are far apart, and the taker has come further than the giver, or not as far.
  const Sigma ahead = GENERATE(0, 1'000'000);
  taker.numbers(0).order.begin_beyond(ahead);
  REQUIRE(taker.numbers(1).votes.skip_to(ahead + 1, 0));
  taker.write(0, kOther);  // in an earlier ownership
  (void)giver.answer(0, 1, 11, 70'000);
  (void)giver.answer(0, 2, 12, 70'001);
  (void)giver.answer(1, 3, 13, 0);
  giver.write(0, kWritten);
  (void)giver.answer(0, 4, 14, 80'000);
  REQUIRE_FALSE(giver.counted(0, 1, kWritten).has_value());

  const Sigma before = taker.own->newest();
  const Sigma barrier = taker.own->begin_anew();
  REQUIRE(barrier > before);
  // What is asked for since is newer than all that comes.
  REQUIRE(taker.answer(0, 2, 22, 90'000) == UpdateOutcome::inserted);
  taker.take_from(giver, barrier);
  CHECK_FALSE(taker.counted(0, 1, kWritten).has_value());
  CHECK(taker.counted(0, 1, kOther) == numbered(11));
  CHECK(taker.counted(0, 2, kOther) == numbered(22));
  CHECK(taker.counted(1, 3, kOther) == numbered(13));
  CHECK(taker.counted(0, 4, kWritten) == numbered(14));
  // And it takes the place of what came.
  CHECK(taker.answer(0, 4, 24, 90'001) == UpdateOutcome::replaced);
  CHECK(taker.answer(1, 3, 23, 0) == UpdateOutcome::replaced);
  taker.write(1, kOther);
  CHECK_FALSE(taker.counted(1, 3, kOther).has_value());
}

TEST_CASE("ring history: an answer that a barrier has overtaken is not known to be newer") {
  CountingMember member({GroupKind::pbft, GroupKind::pbft});
  SigmaOrder& order = member.numbers(1).order;
  const SigmaOrder::Submitted submitted = order.submit();
  const Sigma barrier = member.own->begin_anew();
  CHECK(order.place(submitted, 5).doubtful);
  const auto placed = order.place(order.submit(), 6);
  CHECK_FALSE(placed.doubtful);
  CHECK(placed.sigma > barrier);
}

TEST_CASE("ring history: numbers that are used up begin no more") {
  CountingMember member({GroupKind::vote});
  REQUIRE(member.numbers(0).votes.skip_to(kSigmaMax / 2, 0));
  CHECK(member.own->begin_anew() == 0);
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
