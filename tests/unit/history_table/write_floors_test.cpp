#include "history_table/write_floors.hpp"

#include <array>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "history_table/history_table.hpp"

namespace prophecy {
namespace {

constexpr std::size_t kSlots = 256;

struct Words {
  std::array<WriteFloors::Word, kSlots> words{};
  WriteFloors floors{words, 7};
};

std::string path_number(int number) {
  return "/" + std::to_string(number);
}

// Both begin a round together, and go on to the next one together.
class Pace {
 public:
  void wait(std::uint64_t round) {
    arrived_.fetch_add(1);
    while (arrived_.load() < 2 * round)
      std::this_thread::yield();
  }

 private:
  std::atomic<std::uint64_t> arrived_{0};
};

}  // namespace

TEST_CASE("an entry counts above the floor of its URI, and nowhere else") {
  const Words words;
  const auto written = words.floors.slot_of("a", "/written");
  const auto other = words.floors.slot_of("a", "/other");
  REQUIRE(written != other);
  const HistoryEntry entry{.answer = {1}, .sigma = 10};
  CHECK(words.floors.admit(entry, written) == entry);
  words.floors.raise(written, 9);
  CHECK(words.floors.admit(entry, written) == entry);
  words.floors.raise(written, 10);
  CHECK_FALSE(words.floors.admit(entry, written));
  CHECK(words.floors.admit(entry, other) == entry);
  CHECK_FALSE(words.floors.admit(std::nullopt, other));
}

TEST_CASE("marks are the operator's word, and stay above every floor") {
  const Words words;
  words.floors.raise(0, kSigmaMax);
  for (const Mark mark : {Mark::whitelisted, Mark::blacklisted}) {
    const HistoryEntry entry{.mark = mark};
    CHECK(words.floors.admit(entry, 0) == entry);
  }
}

TEST_CASE("what a write has made out of date is told from what an import has") {
  std::array<WriteFloors::Word, kSlots> words{};
  WriteFloors::Word common = 0;
  const WriteFloors floors(words, 7, &common);
  const HistoryEntry entry{.answer = {1}, .sigma = 10};
  CHECK_FALSE(floors.was_written_since(entry, 0));
  floors.raise(0, 9);
  CHECK_FALSE(floors.was_written_since(entry, 0));
  floors.raise(0, 10);
  CHECK(floors.was_written_since(entry, 0));
  CHECK_FALSE(floors.was_written_since(entry, 1));
  raise_word(common, 10);
  CHECK_FALSE(floors.was_written_since(entry, 0));
}

TEST_CASE("a floor never falls") {
  const Words words;
  words.floors.raise(3, 20);
  words.floors.raise(3, 19);
  CHECK(words.floors.at(3) == 20);
}

TEST_CASE("a write makes as many unrelated entries out of date as the table is small") {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  const std::size_t slots = WriteFloors::slots_for(kBytes, 1);
  std::vector<WriteFloors::Word> words(slots);
  const WriteFloors floors(words, 7);
  CHECK(floors.share_raised() == 0);
  constexpr int kWrites = 200'000;
  for (int i = 0; i < kWrites; ++i)
    floors.raise(floors.slot_of("a", path_number(i)), 10);
  // docs/history-table.md has this number.
  CHECK(floors.share_raised() == Approx(0.091).margin(0.002));
  int out_of_date = 0;
  for (int i = 0; i < 20'000; ++i)
    out_of_date += floors.at(floors.slot_of("a", path_number(kWrites + i))) != 0 ? 1 : 0;
  CHECK(out_of_date / 20'000.0 == Approx(0.091).margin(0.01));
}

TEST_CASE("URIs are spread by authority and target, under a seed") {
  Words words;
  const WriteFloors reseeded(words.words, 8);
  std::set<WriteFloors::Slot> by_target;
  std::set<WriteFloors::Slot> by_authority;
  int moved = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto slot = words.floors.slot_of("a", path_number(i));
    CHECK(slot == words.floors.slot_of("a", path_number(i)));
    CHECK(slot < kSlots);
    by_target.insert(slot);
    by_authority.insert(words.floors.slot_of(path_number(i), "/"));
    moved += slot != reseeded.slot_of("a", path_number(i)) ? 1 : 0;
  }
  // Of 256, all but five are expected.
  CHECK(by_target.size() > 235);
  CHECK(by_authority.size() > 235);
  CHECK(moved > 980);
}

TEST_CASE("floors take a 64th of a table at most, of a small one a sixteenth") {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  CHECK(WriteFloors::slots_for(1024 * kMiB, 1) == 1 << 21);
  CHECK(WriteFloors::slots_for(1024 * kMiB, 3) == 1 << 19);
  CHECK(WriteFloors::slots_for(1024 * 1024 * kMiB, 1) == WriteFloors::kSlotsMax);
  CHECK(WriteFloors::slots_for(64 * kMiB, 1) == 1 << 17);
  CHECK(WriteFloors::slots_for(32 * kMiB, 1) == 1 << 16);
  CHECK(WriteFloors::slots_for(8 * kMiB, 1) == 1 << 16);
  CHECK(WriteFloors::slots_for(std::size_t{8} << 20, 3) == 16384);
  CHECK(WriteFloors::slots_for(HistoryTable::kBytesMin, 1) == 512);
  CHECK(WriteFloors::slots_for(HistoryTable::kBytesMin, 64) == WriteFloors::kSlotsMin);
}

TEST_CASE("the groups of a table have floors of their own, beside its entries") {
  auto table = HistoryTable::create(HistoryTable::kBytesMin, 7, BlockStore::kBytesMin,
                                    HistoryTable::kLimitedShare, 3);
  REQUIRE(table.has_value());
  table->attach(1);
  std::size_t slots = 0;
  for (std::uint32_t group = 0; group < 3; ++group) {
    const WriteFloors floors = table->floors(group);
    slots += floors.words().size();
    for (WriteFloors::Slot slot = 0; slot < floors.words().size(); ++slot)
      floors.raise(slot, group + 1);
  }
  CHECK(slots == 3 * table->floor_slots());
  CHECK(slots * sizeof(WriteFloors::Word) <= HistoryTable::kFloorBytesMin);
  CHECK(table->floors_raised() == 1);
  for (std::uint32_t group = 0; group < 3; ++group) {
    for (const WriteFloors::Word floor : table->floors(group).words())
      REQUIRE(floor == group + 1);
  }
  for (const std::byte byte : table->companion())
    REQUIRE(byte == std::byte{0});
  CHECK(table->stats().entries == 0);
  CHECK(table->update({1}, {2}, 3) == UpdateOutcome::inserted);
}

// A write ends, and an answer that was asked for before it comes at the same time: it is seen to be
// older, or its number is below the floor.
TEST_CASE("no number of what was asked before an unordered write ends up above its floor") {
  constexpr std::uint64_t kRounds = 10'000;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);  // on a busy machine
  const Words words;
  std::atomic<Sigma> last{0};
  const auto next = [&] { return last.fetch_add(1) + 1; };
  Pace pace;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::uint64_t round = 1;; ++round) {
      pace.wait(2 * round - 1);
      if (stop.load()) return;
      words.floors.raise_unordered(0, next);
      pace.wait(2 * round);
    }
  });
  std::uint64_t above = 0;
  std::uint64_t refused_behind = 0;
  for (std::uint64_t round = 1; !stop.load(); ++round) {
    const Sigma asked = last.load();
    // Which of the two is first is the scheduler's matter. What comes behind both is recorded.
    refused_behind += asked < words.floors.at(0) ? 1 : 0;
    stop = round > kRounds || std::chrono::steady_clock::now() > end;
    pace.wait(2 * round - 1);
    if (stop.load()) break;
    const Sigma sigma = next();
    const bool is_recorded = asked >= words.floors.at(0);
    pace.wait(2 * round);
    above += is_recorded && sigma > words.floors.at(0) ? 1 : 0;
  }
  writer.join();
  CHECK(above == 0);
  CHECK(refused_behind == 0);
}

}  // namespace prophecy
