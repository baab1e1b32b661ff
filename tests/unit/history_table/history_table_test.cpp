#include "history_table/history_table.hpp"

#include <bit>
#include <vector>

#include <catch2/catch.hpp>

#include "scenarios.hpp"

namespace prophecy {
namespace {

using table::answer_for;
using table::entry_for;
using table::key_number;
using table::marked_entry;

constexpr std::size_t kOneMebibyte = std::size_t{1} << 20;

HistoryTable attached_table(std::size_t bytes = kOneMebibyte) {
  auto table = HistoryTable::create(bytes, 7);
  REQUIRE(table.has_value());
  table->attach(1);
  return std::move(*table);
}

}  // namespace

TEST_CASE("Of two answers whose order is not known, neither is kept") {
  auto table = attached_table();
  REQUIRE(table.update(key_number(1), answer_for(1, 5), 5) == UpdateOutcome::inserted);
  // Asked for before the other came, and another one: either may be the newer.
  CHECK(table.update_unordered(key_number(1), answer_for(1, 7), 4, 7) == UpdateOutcome::unordered);
  CHECK(table.lookup(key_number(1)) == HistoryEntry{Sketch{}, 7, Mark::none});
  // Asked for behind both.
  CHECK(table.update_unordered(key_number(1), answer_for(1, 8), 7, 8) == UpdateOutcome::replaced);
  // The same answer again needs no order; nor does it go back.
  CHECK(table.update_unordered(key_number(1), answer_for(1, 8), 3, 9) == UpdateOutcome::replaced);
  CHECK(table.update_unordered(key_number(1), answer_for(1, 8), 3, 6) == UpdateOutcome::older);
  CHECK(table.lookup(key_number(1)) == HistoryEntry{answer_for(1, 8), 9, Mark::none});
  // One that was overtaken on its way to the table.
  CHECK(table.update_unordered(key_number(1), answer_for(1, 6), 5, 6) == UpdateOutcome::unordered);
  CHECK(table.lookup(key_number(1)) == HistoryEntry{Sketch{}, 9, Mark::none});
  // None twice is not the same answer twice.
  CHECK(table.update_unordered(key_number(1), Sketch{}, 5, 10) == UpdateOutcome::unordered);
  CHECK(table.update_unordered(key_number(1), Sketch{}, 10, 11) == UpdateOutcome::replaced);
  CHECK(table.lookup(key_number(1)) == HistoryEntry{Sketch{}, 11, Mark::none});
}

TEST_CASE("a new table is empty and as large as its memory allows") {
  const HistoryTable table = attached_table();
  CHECK_FALSE(table.lookup(key_number(1)));
  const HistoryTableStats stats = table.stats();
  constexpr std::size_t kFloors = kOneMebibyte / 16;
  CHECK(stats.capacity == (kOneMebibyte - 4096 - kFloors - std::size_t{256} * 128) / 320 * 8);
  CHECK(stats.entries == 0);
  CHECK(stats.evictions == 0);
  CHECK(stats.recoveries == 0);
}

TEST_CASE("sizes outside the bounds are the operator's mistake") {
  for (const std::size_t bytes :
       {std::size_t{0}, HistoryTable::kBytesMin - 1, (std::size_t{1} << 46) + 1, SIZE_MAX}) {
    const auto table = HistoryTable::create(bytes, 7);
    REQUIRE_FALSE(table.has_value());
    CHECK(table.error().kind == ErrorKind::invalid);
  }
  CHECK(HistoryTable::create(HistoryTable::kBytesMin, 7).has_value());
}

TEST_CASE("memory that the system refuses is an error") {
  const auto table = HistoryTable::create(std::size_t{1} << 46, 7);
  REQUIRE_FALSE(table.has_value());
  CHECK(table.error().kind == ErrorKind::io);
}

TEST_CASE("an update is taken when there is no entry or sigma is newer") {
  HistoryTable table = attached_table();
  CHECK(table.update(key_number(1), answer_for(1, 50), 50) == UpdateOutcome::inserted);
  CHECK(table.lookup(key_number(1)) == entry_for(1, 50));
  CHECK(table.update(key_number(1), answer_for(1, 51), 51) == UpdateOutcome::replaced);
  CHECK(table.lookup(key_number(1)) == entry_for(1, 51));
  CHECK(table.update(key_number(1), answer_for(1, 51), 51) == UpdateOutcome::older);
  CHECK(table.update(key_number(1), answer_for(1, 50), 50) == UpdateOutcome::older);
  CHECK(table.lookup(key_number(1)) == entry_for(1, 51));
  CHECK(table.stats().entries == 1);
}

TEST_CASE("sigma has 62 bits") {
  HistoryTable table = attached_table();
  CHECK(table.update(key_number(1), answer_for(1, 1), 1) == UpdateOutcome::inserted);
  CHECK(table.update(key_number(1), answer_for(1, kSigmaMax), kSigmaMax) ==
        UpdateOutcome::replaced);
  CHECK(table.lookup(key_number(1)) == entry_for(1, kSigmaMax));
}

TEST_CASE("a key and an answer of zeros are as good as any") {
  HistoryTable table = attached_table();
  CHECK_FALSE(table.lookup(Sketch{}));
  CHECK(table.update(Sketch{}, Sketch{}, 3) == UpdateOutcome::inserted);
  CHECK(table.lookup(Sketch{}) == HistoryEntry{Sketch{}, 3, Mark::none});
}

TEST_CASE("a mark replaces the answer, refuses updates and leaves nothing when removed") {
  const Mark mark = GENERATE(Mark::whitelisted, Mark::blacklisted);
  HistoryTable table = attached_table();
  REQUIRE(table.update(key_number(1), answer_for(1, 5), 5) == UpdateOutcome::inserted);
  CHECK(table.set_mark(key_number(1), mark) == ChangeOutcome::done);
  CHECK(table.lookup(key_number(1)) == marked_entry(mark));
  CHECK(table.update(key_number(1), answer_for(1, 9), 9) == UpdateOutcome::marked);
  CHECK(table.lookup(key_number(1)) == marked_entry(mark));
  CHECK(table.erase(key_number(1)) == ChangeOutcome::done);  // answers only
  CHECK(table.lookup(key_number(1)) == marked_entry(mark));
  CHECK(table.stats().entries == 1);

  CHECK(table.set_mark(key_number(1), Mark::none) == ChangeOutcome::done);
  CHECK_FALSE(table.lookup(key_number(1)));
  CHECK(table.stats().entries == 0);
  // What was answered while the mark stood must not be undone by something older.
  CHECK(table.update(key_number(1), answer_for(1, 8), 8) == UpdateOutcome::older);
  CHECK(table.update(key_number(1), answer_for(1, 10), 10) == UpdateOutcome::inserted);
}

TEST_CASE("a mark may be set where there was no entry, and exchanged") {
  HistoryTable table = attached_table();
  CHECK(table.set_mark(key_number(1), Mark::whitelisted) == ChangeOutcome::done);
  CHECK(table.set_mark(key_number(1), Mark::blacklisted) == ChangeOutcome::done);
  CHECK(table.set_mark(key_number(1), Mark::blacklisted) == ChangeOutcome::done);
  CHECK(table.lookup(key_number(1)) == marked_entry(Mark::blacklisted));
  CHECK(table.stats().entries == 1);
}

TEST_CASE("removing a mark that is not there changes nothing") {
  HistoryTable table = attached_table();
  REQUIRE(table.update(key_number(1), answer_for(1, 5), 5) == UpdateOutcome::inserted);
  CHECK(table.set_mark(key_number(1), Mark::none) == ChangeOutcome::done);
  CHECK(table.set_mark(key_number(2), Mark::none) == ChangeOutcome::done);
  CHECK(table.lookup(key_number(1)) == entry_for(1, 5));
  CHECK(table.stats().entries == 1);
}

TEST_CASE("an erased answer is not followed by an older one") {
  HistoryTable table = attached_table();
  REQUIRE(table.update(key_number(1), answer_for(1, 5), 5) == UpdateOutcome::inserted);
  CHECK(table.erase(key_number(1)) == ChangeOutcome::done);
  CHECK(table.erase(key_number(1)) == ChangeOutcome::done);
  CHECK_FALSE(table.lookup(key_number(1)));
  CHECK(table.stats().entries == 0);
  CHECK(table.update(key_number(1), answer_for(1, 4), 4) == UpdateOutcome::older);
  CHECK_FALSE(table.lookup(key_number(1)));
  CHECK(table.update(key_number(1), answer_for(1, 5), 5) == UpdateOutcome::inserted);
}

TEST_CASE("a full table evicts, counts it, and keeps what fits") {
  HistoryTable table = attached_table(HistoryTable::kBytesMin);
  const std::uint64_t capacity = table.stats().capacity;
  const std::uint64_t keys = 4 * capacity;
  for (std::uint64_t key = 0; key < keys; ++key) {
    REQUIRE(table.update(key_number(key), answer_for(key, key + 1), key + 1) ==
            UpdateOutcome::inserted);
  }
  std::uint64_t found = 0;
  for (std::uint64_t key = 0; key < keys; ++key) {
    if (const auto entry = table.lookup(key_number(key))) {
      ++found;
      CHECK(*entry == entry_for(key, key + 1));
    }
  }
  const HistoryTableStats stats = table.stats();
  CHECK(stats.entries == found);
  CHECK(stats.evictions == keys - found);
  CHECK(found > capacity * 9 / 10);
  CHECK(found <= capacity);
}

TEST_CASE("a moved table goes on in its new place") {
  HistoryTable first = attached_table();
  REQUIRE(first.update(key_number(1), answer_for(1, 5), 5) == UpdateOutcome::inserted);
  HistoryTable second = std::move(first);
  CHECK(second.update(key_number(1), answer_for(1, 6), 6) == UpdateOutcome::replaced);
  CHECK(second.lookup(key_number(1)) == entry_for(1, 6));
}

TEST_CASE("declaring a writer dead that held nothing changes nothing") {
  HistoryTable table = attached_table();
  REQUIRE(table.update(key_number(1), answer_for(1, 5), 5) == UpdateOutcome::inserted);
  for (WriterSlot slot = 0; slot <= kWriterSlotMax; ++slot)
    table.declare_dead(slot);
  CHECK(table.lookup(key_number(1)) == entry_for(1, 5));
  CHECK(table.stats().recoveries == 0);
}

namespace table {

TEST_CASE("keys of one bucket whose tags differ in one bit are different keys") {
  const Sketch key = key_number(1);
  for (std::size_t bit = 0; bit < 80; ++bit) {
    const SmallRegion region = small_region(1);
    Editor writer(region, 1, kUninterrupted);
    writer.update(key, answer_for(1, 9), 9);
    Sketch other = key;
    other[bit / 8] = static_cast<std::uint8_t>(other[bit / 8] ^ 1U << bit % 8);
    CHECK_FALSE(find_entry(region, other, kUninterrupted));
    CHECK(writer.update(other, answer_for(2, 9), 9) == UpdateOutcome::inserted);
    CHECK(find_entry(region, key, kUninterrupted) == entry_for(1, 9));
    CHECK(find_entry(region, other, kUninterrupted) == entry_for(2, 9));
  }
}

TEST_CASE("fingerprints are compared alike by vectors and without") {
  std::uint64_t random = 9;
  for (int round = 0; round < 1000; ++round) {
    CAPTURE(round);
    const auto fingerprint = static_cast<std::uint32_t>(next_random(random));
    FingerprintWords words{};
    unsigned expected = 0;
    for (std::size_t slot = 0; slot < kSlotsPerBucket; ++slot) {
      // The same, one bit off, or something else.
      const std::uint64_t kind = next_random(random) % 3;
      Word other = fingerprint;
      if (kind == 1) other ^= Word{1} << next_random(random) % 32;
      if (kind == 2) other = static_cast<std::uint32_t>(next_random(random));
      expected |= unsigned{kind == 0} << slot;
      Word& word = words[FingerprintLanes::word_of(slot)];
      word = FingerprintLanes::with(word, slot, other);
    }
    CHECK(equal_fingerprints(words, fingerprint) == expected);
    CHECK(equal_fingerprints_portable(words, fingerprint) == expected);
  }
}

TEST_CASE("each bit of a key's tag chooses its buckets, and so does the seed") {
  const SmallRegion region = small_region(100'000);
  const Sketch key = key_number(1);
  const KeyPlace place = region.place_of(key);
  for (std::size_t bit = 0; bit < 80; ++bit) {
    Sketch other = key;
    other[bit / 8] = static_cast<std::uint8_t>(other[bit / 8] ^ 1U << bit % 8);
    const KeyPlace its = region.place_of(other);
    CHECK((its.first != place.first && its.second != place.second));
  }
  const SmallRegion seeded = small_region(100'000, 1, 7);
  CHECK(seeded.place_of(key).first != place.first);
  CHECK(seeded.place_of(key).second != place.second);
}

TEST_CASE("the two buckets of a key lead to each other, for any number of buckets") {
  for (const std::size_t buckets : {1, 2, 3, 5, 64, 1000}) {
    const SmallRegion region = small_region(buckets);
    std::vector<unsigned> load(buckets);
    for (std::uint64_t key = 0; key < 20 * buckets; ++key) {
      const KeyPlace place = region.place_of(key_number(key));
      REQUIRE(place.first < buckets);
      REQUIRE(place.second < buckets);
      CHECK(region.other_bucket(place.first, place.tag) == place.second);
      CHECK(region.other_bucket(place.second, place.tag) == place.first);
      ++load[place.first];
      ++load[place.second];
    }
    // 40 on the average; far from it only if some are preferred.
    for (const unsigned count : load)
      CHECK((count > 5 && count < 100));
  }
}

TEST_CASE("entries move to make room, and a table with room for a key keeps it") {
  const SmallRegion region = small_region(1000);
  auto writer = steady_hand(region, 1);
  const std::uint64_t keys = 1000 * kSlotsPerBucket * 93 / 100;
  for (std::uint64_t key = 0; key < keys; ++key)
    writer.update(key, key + 1);
  std::uint64_t lost = 0;
  std::uint64_t in_second = 0;
  for (std::uint64_t key = 0; key < keys; ++key) {
    const auto found = find(region, key);
    lost += !found;
    if (found) CHECK(found == entry_for(key, key + 1));
    const KeyPlace place = region.place_of(key_number(key));
    in_second +=
        slots_with(region.bucket(place.second), place.tag.fingerprint, kUninterrupted) != 0;
  }
  CHECK(in_second > keys / 5);
  CHECK(lost == stats_of(region).evictions);
  CHECK(lost <= keys / 1000);
}

TEST_CASE("an entry that was moved keeps its mark of use, and one that was not has none") {
  const Scenario scenario = scenario_named("insert and move another entry");
  const bool is_read = GENERATE(true, false);
  const SmallRegion region = small_region(scenario.buckets);
  auto writer = steady_hand(region, 1);
  for (const auto& [key, sigma] : scenario.answers) {
    writer.update(key, sigma);
    if (is_read) REQUIRE(find(region, key));
  }
  writer.update(scenario.key, scenario.sigma);
  CHECK(stats_of(region).evictions == 0);
  int used = 0;
  for (Word i = 0; i < region.bucket_count(); ++i)
    used += std::popcount(load(region.bucket(i).control) & kReferencedMask);
  CHECK(used == (is_read ? static_cast<int>(scenario.answers.size()) : 0));
}

TEST_CASE("an entry that was read once survives one turn of the hand") {
  for (std::uint64_t read = 0; read < kSlotsPerBucket; ++read) {
    CAPTURE(read);
    const SmallRegion region = small_region(1);
    auto writer = steady_hand(region, 1);
    for (std::uint64_t key = 0; key < kSlotsPerBucket; ++key)
      writer.update(key, key + 1);
    REQUIRE(find(region, read));
    for (std::uint64_t key = kSlotsPerBucket; key < 2 * kSlotsPerBucket - 1; ++key)
      writer.update(key, key + 1);
    CHECK(find(region, read) == entry_for(read, read + 1));
  }
}

TEST_CASE("an entry that was read outlives those that were not") {
  for (const std::size_t buckets : {1, 2, 5}) {
    const SmallRegion region = small_region(buckets);
    auto writer = steady_hand(region, 1);
    for (std::uint64_t key = 0; key < 400; ++key) {
      if (key > 2) REQUIRE(find(region, 2) == entry_for(2, 3));
      REQUIRE(writer.update(key, key + 1) == UpdateOutcome::inserted);
    }
    CHECK(find(region, 2) == entry_for(2, 3));
  }
}

TEST_CASE("an entry that is no longer read gives way") {
  const SmallRegion region = small_region(1);
  auto writer = steady_hand(region, 1);
  for (std::uint64_t key = 0; key < kSlotsPerBucket; ++key) {
    writer.update(key, key + 1);
    REQUIRE(find(region, key));
  }
  for (std::uint64_t key = kSlotsPerBucket; key < 8 * kSlotsPerBucket; ++key)
    writer.update(key, key + 1);
  for (std::uint64_t key = 0; key < kSlotsPerBucket; ++key)
    CHECK_FALSE(find(region, key));
}

TEST_CASE("what was evicted does not return with an older sigma") {
  const SmallRegion region = small_region(2);
  auto writer = steady_hand(region, 1);
  const std::uint64_t keys = 2 * kSlotsPerBucket + 4;
  for (std::uint64_t key = 0; key < keys; ++key)
    writer.update(key, 100 + key);
  int evicted = 0;
  for (std::uint64_t key = 0; key < keys; ++key) {
    if (find(region, key)) continue;
    ++evicted;
    CHECK(writer.update(key, 100 + key - 1) == UpdateOutcome::older);
    CHECK_FALSE(find(region, key));
  }
  CHECK(evicted >= 4);
  CHECK(writer.update(0, 200) != UpdateOutcome::older);
}

TEST_CASE("marks are not evicted, and a bucket full of marks refuses") {
  constexpr std::uint64_t kLast = kSlotsPerBucket - 1;
  const SmallRegion region = small_region(1);
  auto writer = steady_hand(region, 1);
  for (std::uint64_t key = 0; key < kLast; ++key) {
    REQUIRE(writer.set_mark(key, Mark::blacklisted) == ChangeOutcome::done);
  }
  for (std::uint64_t key = 10; key < 30; ++key) {
    REQUIRE(writer.update(key, key) == UpdateOutcome::inserted);
  }
  // The last one takes the place of the last answer.
  REQUIRE(writer.set_mark(kLast, Mark::whitelisted) == ChangeOutcome::done);
  CHECK(writer.update(30, 40) == UpdateOutcome::full);
  CHECK(writer.set_mark(kLast + 1, Mark::blacklisted) == ChangeOutcome::full);
  for (std::uint64_t key = 0; key < kLast; ++key) {
    CHECK(find(region, key) == marked_entry(Mark::blacklisted));
  }
  CHECK(find(region, kLast) == marked_entry(Mark::whitelisted));
  CHECK(stats_of(region).entries == kSlotsPerBucket);

  REQUIRE(writer.set_mark(0, Mark::none) == ChangeOutcome::done);
  CHECK(writer.update(30, 39) == UpdateOutcome::older);  // 40 was handed to a client
  CHECK(writer.update(30, 40) == UpdateOutcome::inserted);
}

}  // namespace table
}  // namespace prophecy
