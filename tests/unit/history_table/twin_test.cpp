// Seeded sequences of operations on the table and on a std::map that forgets nothing.
#include <map>
#include <set>

#include <catch2/catch.hpp>

#include "support.hpp"

namespace prophecy::table {
namespace {

struct Twin {
  std::optional<HistoryEntry> entry;
  Sigma newest = 0;  // ever given to update()
};

enum class Size { ample, scarce };

// Runs one seed. In a scarce table an entry may be missing; what is there must be the twin's.
void run(std::uint64_t seed, Size size) {
  CAPTURE(seed);
  const SmallRegion region = small_region(size == Size::ample ? 400 : 4, 0.1);
  auto writer = steady_hand(region, 1);
  std::map<std::uint64_t, Twin> twins;
  std::set<std::uint64_t> limited_was;
  std::uint64_t random = seed;
  for (int step = 0; step < 4000; ++step) {
    CAPTURE(step);
    const std::uint64_t key = next_random(random) % 60;
    Twin& twin = twins[key];
    switch (next_random(random) % 16) {
      case 0: {
        const Mark mark = static_cast<Mark>(next_random(random) % 3);
        if (writer.set_mark(key, mark) != ChangeOutcome::done) break;
        if (mark != Mark::none) {
          twin.entry = marked_entry(mark);
        } else if (twin.entry && twin.entry->mark != Mark::none) {
          twin.entry.reset();
        }
        break;
      }
      case 1:
        REQUIRE(writer.erase(key) == ChangeOutcome::done);
        if (twin.entry && twin.entry->mark == Mark::none) twin.entry.reset();
        break;
      default: {
        // Mostly ahead, sometimes late.
        const Sigma sigma = 1000 + static_cast<Sigma>(step) - next_random(random) % 20;
        const Room room = next_random(random) % 4 == 0 ? Room::limited : Room::any;
        const UpdateOutcome outcome = writer.update(key, sigma, room);
        const bool taken = outcome == UpdateOutcome::inserted || outcome == UpdateOutcome::replaced;
        if (twin.entry && twin.entry->mark != Mark::none) {
          REQUIRE(outcome == UpdateOutcome::marked);
        } else if (taken) {
          REQUIRE(sigma >= twin.newest);
          twin.entry = entry_for(key, sigma);
        }
        twin.newest = std::max(twin.newest, sigma);
        if (room == Room::limited) limited_was.insert(key);
      }
    }
    const std::uint64_t looked_up = next_random(random) % 60;
    const auto entry = find(region, looked_up);
    const auto& expected = twins[looked_up].entry;
    // Of limited room there is little in any table.
    if (!entry && size == Size::ample) REQUIRE((!expected || limited_was.contains(looked_up)));
    if (entry || (expected && expected->mark != Mark::none)) {
      REQUIRE(entry == expected);
    }
  }
  std::uint64_t present = 0;
  for (std::uint64_t key = 0; key < 60; ++key)
    present += find(region, key).has_value();
  CHECK(stats_of(region).entries == present);
  CHECK(stats_of(region).limited == limited_slots(region));
  if (size == Size::scarce) CHECK(stats_of(region).evictions > 0);
}

}  // namespace

TEST_CASE("a table with room agrees with its twin") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed)
    run(seed, Size::ample);
}

TEST_CASE("a crowded table may forget but never disagrees with its twin") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed)
    run(seed, Size::scarce);
}

}  // namespace prophecy::table
