// Abandons every kind of change before each of its stores, as a kill there would, and checks what
// readers, the clean-up and later writers make of it.
#include <catch2/catch.hpp>

#include "scenarios.hpp"

namespace prophecy::table {
namespace {

constexpr WriterSlot kVictim = 2;

// Runs the change as kVictim for so many steps. True if it came to its end.
bool runs_through(const Scenario& scenario, const Region& region, std::size_t steps) {
  StopAfter stop{steps};
  try {
    scenario.change(region, kVictim, stop);
    return true;
  } catch (const Abandoned&) {
    return false;
  }
}

bool clean_up_runs_through(const Region& region, std::size_t steps) {
  StopAfter stop{steps};
  try {
    Hand(region, kVictim, stop).clean_up();
    return true;
  } catch (const Abandoned&) {
    return false;
  }
}

// Every entry is the old one, the new one, or gone; and one that the change did not concern is
// there, if `all_present`.
void check_contents(const Region& region, const Scenario& scenario, const Contents& before,
                    const Contents& after, bool all_present) {
  for (std::uint64_t key = 0; key < scenario.keys(); ++key) {
    CAPTURE(key);
    const auto found = find(region, key);
    if (found) CHECK((found == at(before, key) || found == at(after, key)));
    if (all_present && at(before, key) == at(after, key)) CHECK(found == at(before, key));
  }
}

// What a client may have seen before must not be followed by something older.
void check_nothing_older_is_taken(const Region& region, const Scenario& scenario) {
  auto writer = steady_hand(region, 3);
  for (const auto& [key, sigma] : scenario.answers) {
    CAPTURE(key, sigma);
    const auto outcome = writer.update(key, sigma - 1);
    CHECK((outcome == UpdateOutcome::older || outcome == UpdateOutcome::marked ||
           outcome == UpdateOutcome::full));
    const auto found = find(region, key);
    CHECK((!found || found->mark != Mark::none || found->sigma >= sigma));
  }
}

void check_goes_on(const Region& region, const Scenario& scenario) {
  auto writer = steady_hand(region, kVictim);  // its successor
  const bool has_room = scenario.marks.size() < kSlotsPerBucket;
  Sigma sigma = 1000;
  for (std::uint64_t key = 0; key < scenario.keys(); ++key) {
    ++sigma;
    const auto outcome = writer.update(key, sigma);
    if (outcome == UpdateOutcome::marked || !has_room) continue;
    CHECK((outcome == UpdateOutcome::inserted || outcome == UpdateOutcome::replaced));
    CHECK(find(region, key) == entry_for(key, sigma));
  }
  CHECK(stats_of(region).entries == occupied_slots(region));
}

void check_after_clean_up(const Region& region, const Scenario& scenario, const Contents& before,
                          const Contents& after) {
  CHECK_FALSE(any_locked(region));
  check_contents(region, scenario, before, after, true);
  CHECK(stats_of(region).entries == occupied_slots(region));
  CHECK(stats_of(region).limited == limited_slots(region));
  check_nothing_older_is_taken(region, scenario);
  check_goes_on(region, scenario);
}

}  // namespace

TEST_CASE("a change abandoned at any store leaves entries old, new or gone") {
  for (const Scenario& scenario : scenarios()) {
    const Contents before = contents_of(scenario.before(), scenario.keys());
    const Contents after = scenario.after();
    for (std::size_t steps = 0;; ++steps) {
      CAPTURE(scenario.name, steps);
      const SmallRegion region = scenario.before();
      if (runs_through(scenario, region, steps)) {
        CHECK(steps >= 2);  // lock, unlock
        break;
      }
      const bool held = any_locked(region);
      check_contents(region, scenario, before, after, !held);
      steady_hand(region, kVictim).clean_up();
      CHECK(stats_of(region).recoveries == (held ? 1 : 0));
      check_after_clean_up(region, scenario, before, after);
    }
  }
}

TEST_CASE("a clean-up abandoned at any store is finished by repeating it") {
  for (const Scenario& scenario : scenarios()) {
    const Contents before = contents_of(scenario.before(), scenario.keys());
    const Contents after = scenario.after();
    bool change_through = false;
    for (std::size_t steps = 0; !change_through; ++steps) {
      bool clean_up_through = false;
      for (std::size_t clean_up_steps = 0; !clean_up_through && !change_through; ++clean_up_steps) {
        CAPTURE(scenario.name, steps, clean_up_steps);
        const SmallRegion region = scenario.before();
        change_through = runs_through(scenario, region, steps);
        clean_up_through = clean_up_runs_through(region, clean_up_steps);
        check_contents(region, scenario, before, after, !any_locked(region));
        steady_hand(region, kVictim).clean_up();
        check_after_clean_up(region, scenario, before, after);
      }
    }
  }
}

TEST_CASE("a writer that died in one bucket is not mistaken for one that holds another") {
  const SmallRegion region = small_region(8);
  const auto apart = [&](std::uint64_t key) {
    const KeyPlace mine = region.place_of(key_number(0));
    const KeyPlace its = region.place_of(key_number(key));
    return its.first != mine.first && its.first != mine.second && its.second != mine.first &&
           its.second != mine.second;
  };
  std::uint64_t other = 1;
  while (!apart(other))
    ++other;
  auto neighbour = steady_hand(region, 1);
  neighbour.update(0, 5);
  neighbour.update(other, 6);
  // Dies between its announcement and the lock, while a neighbour holds the very bucket. Before
  // that it was elsewhere, so there is something to announce.
  steady_hand(region, kVictim).update(other, 7);
  StopAfter before_lock{3};
  CHECK_THROWS_AS(Hand(region, kVictim, before_lock).update(0, 9), Abandoned);
  StopAfter under_lock{5};
  CHECK_THROWS_AS(Hand(region, 1, under_lock).update(0, 9), Abandoned);
  const KeyPlace place = region.place_of(key_number(0));
  REQUIRE(is_locked_by(load(region.bucket(place.first).control), 1));
  CHECK(load(region.writer(kVictim).held[0]) == place.first);
  steady_hand(region, kVictim).clean_up();
  CHECK(is_locked_by(load(region.bucket(place.first).control), 1));
  CHECK(find(region, other) == entry_for(other, 7));
  steady_hand(region, 1).clean_up();
  CHECK_FALSE(any_locked(region));
  const auto found = find(region, 0);
  CHECK((!found || found == entry_for(0, 5)));
  CHECK(stats_of(region).recoveries == 1);
}

TEST_CASE("a clean-up leaves alone what its dead writer had let go of already") {
  const Scenario scenario = scenario_named("insert and move another entry");
  for (std::size_t steps = 0;; ++steps) {
    CAPTURE(steps);
    const SmallRegion region = scenario.before();
    if (runs_through(scenario, region, steps)) break;
    // Whatever is open is changed by others in between.
    auto other = steady_hand(region, 5);
    Contents changed;
    for (std::uint64_t key = 0; key < scenario.keys(); ++key) {
      const KeyPlace place = region.place_of(key_number(key));
      if (is_locked(load(region.bucket(place.first).control)) ||
          is_locked(load(region.bucket(place.second).control))) {
        continue;
      }
      if (!find(region, key)) continue;
      REQUIRE(other.update(key, 500) == UpdateOutcome::replaced);
      changed[key] = entry_for(key, 500);
    }
    steady_hand(region, kVictim).clean_up();
    CHECK_FALSE(any_locked(region));
    for (const auto& [key, entry] : changed)
      CHECK(find(region, key) == entry);
    CHECK(stats_of(region).entries == occupied_slots(region));
  }
}

TEST_CASE("until a death is declared, readers miss and the master is told busy") {
  const SmallRegion region = small_region(1);
  auto master = steady_hand(region, 0);
  master.update(0, 5);
  StopAfter under_lock{1};
  CHECK_THROWS_AS(Hand(region, kVictim, under_lock).update(1, 9), Abandoned);
  REQUIRE(any_locked(region));
  CHECK_FALSE(find(region, 0));
  CHECK(master.set_mark(0, Mark::blacklisted) == ChangeOutcome::busy);
  CHECK(master.erase(0) == ChangeOutcome::busy);
  steady_hand(region, kVictim).clean_up();
  CHECK(find(region, 0) == entry_for(0, 5));
  CHECK(master.set_mark(0, Mark::blacklisted) == ChangeOutcome::done);
}

}  // namespace prophecy::table
