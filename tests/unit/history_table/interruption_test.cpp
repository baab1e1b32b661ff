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

bool is_open(const Region& region) {
  return !is_locked(load(region.bucket(0).control));
}

std::uint64_t occupied_slots(const Region& region) {
  std::uint64_t occupied = 0;
  for (Slot& slot : region.bucket(0).slots)
    occupied += load(slot.state) != 0;
  return occupied;
}

// Every entry is the old one, the new one, or gone; and one that the change did not concern is
// there, if `all_present`.
void check_contents(const Region& region, const Contents& before, const Contents& after,
                    bool all_present) {
  for (std::uint64_t key = 0; key < kKeys; ++key) {
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

void check_goes_on(const Region& region, bool has_room) {
  auto writer = steady_hand(region, kVictim);  // its successor
  Sigma sigma = 1000;
  for (std::uint64_t key = 0; key < kKeys; ++key) {
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
  CHECK(is_open(region));
  check_contents(region, before, after, true);
  CHECK(stats_of(region).entries == occupied_slots(region));
  CHECK(stats_of(region).limited == limited_slots(region));
  check_nothing_older_is_taken(region, scenario);
  check_goes_on(region, scenario.marks.size() < kSlotsPerBucket);
}

}  // namespace

TEST_CASE("a change abandoned at any store leaves entries old, new or gone") {
  for (const Scenario& scenario : scenarios()) {
    const Contents before = contents_of(scenario.before());
    const Contents after = scenario.after();
    for (std::size_t steps = 0;; ++steps) {
      CAPTURE(scenario.name, steps);
      const Region region = scenario.before();
      if (runs_through(scenario, region, steps)) {
        CHECK(steps >= 3);  // announce, lock, unlock
        break;
      }
      const bool held = !is_open(region);
      check_contents(region, before, after, !held);
      steady_hand(region, kVictim).clean_up();
      CHECK(stats_of(region).recoveries == (held ? 1 : 0));
      check_after_clean_up(region, scenario, before, after);
    }
  }
}

TEST_CASE("a clean-up abandoned at any store is finished by repeating it") {
  for (const Scenario& scenario : scenarios()) {
    const Contents before = contents_of(scenario.before());
    const Contents after = scenario.after();
    bool change_through = false;
    for (std::size_t steps = 0; !change_through; ++steps) {
      bool clean_up_through = false;
      for (std::size_t clean_up_steps = 0; !clean_up_through && !change_through; ++clean_up_steps) {
        CAPTURE(scenario.name, steps, clean_up_steps);
        const Region region = scenario.before();
        change_through = runs_through(scenario, region, steps);
        clean_up_through = clean_up_runs_through(region, clean_up_steps);
        check_contents(region, before, after, is_open(region));
        steady_hand(region, kVictim).clean_up();
        check_after_clean_up(region, scenario, before, after);
      }
    }
  }
}

TEST_CASE("a writer that died in one bucket is not mistaken for one that holds another") {
  const Region region = small_region(2);
  std::uint64_t other = 1;
  while (region.bucket_index(key_number(other)) == region.bucket_index(key_number(0)))
    ++other;
  auto neighbour = steady_hand(region, 1);
  neighbour.update(0, 5);
  neighbour.update(other, 6);
  // Dies between its announcement and the lock, while a neighbour holds the very bucket.
  StopAfter before_lock{1};
  CHECK_THROWS_AS(Hand(region, kVictim, before_lock).update(0, 9), Abandoned);
  StopAfter under_lock{2};
  CHECK_THROWS_AS(Hand(region, 1, under_lock).update(0, 9), Abandoned);
  steady_hand(region, kVictim).clean_up();
  CHECK(is_locked_by(load(region.bucket(region.bucket_index(key_number(0))).control), 1));
  CHECK(find(region, other) == entry_for(other, 6));
  steady_hand(region, 1).clean_up();
  CHECK(find(region, 0) == entry_for(0, 5));
  CHECK(stats_of(region).recoveries == 1);
}

TEST_CASE("until a death is declared, readers miss and the master is told busy") {
  const Region region = small_region(1);
  auto master = steady_hand(region, 0);
  master.update(0, 5);
  StopAfter under_lock{2};
  CHECK_THROWS_AS(Hand(region, kVictim, under_lock).update(1, 9), Abandoned);
  CHECK_FALSE(find(region, 0));
  CHECK(master.set_mark(0, Mark::blacklisted) == ChangeOutcome::busy);
  CHECK(master.erase(0) == ChangeOutcome::busy);
  steady_hand(region, kVictim).clean_up();
  CHECK(find(region, 0) == entry_for(0, 5));
  CHECK(master.set_mark(0, Mark::blacklisted) == ChangeOutcome::done);
}

}  // namespace prophecy::table
