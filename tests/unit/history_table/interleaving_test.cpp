// Lets a reader look at every instant of a change, and a change happen at every instant of a look.
#include <catch2/catch.hpp>

#include "scenarios.hpp"

namespace prophecy::table {
namespace {

struct AtEachStep {
  std::function<void()> action;
  void step() { action(); }
};

struct AtOneStep {
  std::size_t steps_left;
  std::function<void()> action;
  bool done = false;
  void step() {
    if (done || steps_left-- != 0) return;
    done = true;
    action();
  }
};

}  // namespace

TEST_CASE("readers between any two stores of a change see the old entry, the new one or none") {
  for (const Scenario& scenario : scenarios()) {
    const SmallRegion region = scenario.before();
    const Contents before = contents_of(region, scenario.keys());
    const Contents after = scenario.after();
    bool is_new = false;  // what the change is about has been seen as it is after it
    AtEachStep look{[&] {
      CAPTURE(scenario.name);
      const bool held = any_locked(region);
      for (std::uint64_t key = 0; key < scenario.keys(); ++key) {
        CAPTURE(key);
        const auto found = find(region, key);
        if (!held && scenario.is_one_change()) REQUIRE(found == at(before, key));
        if (!found) continue;
        REQUIRE((found == at(before, key) || found == at(after, key)));
        if (at(before, key) == at(after, key)) continue;
        if (found == at(after, key)) is_new = true;
        REQUIRE((!is_new || found == at(after, key)));
      }
    }};
    scenario.change(region, 2, look);
    // What has limited room keeps it from others of limited room, since it has just been read.
    const bool is_kept = scenario.room == Room::limited && !scenario.limited.empty() &&
                         at(before, scenario.key) == std::nullopt;
    CHECK(contents_of(region, scenario.keys()) == (is_kept ? before : after));
  }
}

TEST_CASE("a reader overtaken by a whole change between any two loads sees one of its sides") {
  for (const Scenario& scenario : scenarios()) {
    const Contents before = contents_of(scenario.before(), scenario.keys());
    const Contents after = scenario.after();
    for (std::uint64_t key = 0; key < scenario.keys(); ++key) {
      for (std::size_t load_number = 0;; ++load_number) {
        CAPTURE(scenario.name, key, load_number);
        const SmallRegion region = scenario.before();
        AtOneStep overtaken{load_number, [&] { scenario.change(region, 2, kUninterrupted); }};
        const auto found = find_entry(region, key_number(key), overtaken);
        CHECK((found == at(before, key) || found == at(after, key)));
        if (!overtaken.done) break;
      }
    }
  }
}

TEST_CASE("a reader overtaken by a part of a change sees one of its sides, or misses") {
  for (const Scenario& scenario : scenarios()) {
    const Contents before = contents_of(scenario.before(), scenario.keys());
    const Contents after = scenario.after();
    bool change_through = false;
    for (std::size_t steps = 0; !change_through; ++steps) {
      for (std::size_t load_number = 0;; ++load_number) {
        CAPTURE(scenario.name, steps, load_number);
        const SmallRegion region = scenario.before();
        AtOneStep overtaken{load_number, [&] {
                              StopAfter stop{steps};
                              try {
                                scenario.change(region, 2, stop);
                                change_through = true;
                              } catch (const Abandoned&) {
                              }
                            }};
        const auto found = find_entry(region, key_number(scenario.key), overtaken);
        if (!overtaken.done || change_through) break;
        CHECK((!found || found == at(before, scenario.key) || found == at(after, scenario.key)));
      }
    }
  }
}

}  // namespace prophecy::table
