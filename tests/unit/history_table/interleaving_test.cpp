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
    const Region region = scenario.before();
    const Contents before = contents_of(region);
    const Contents after = scenario.after();
    AtEachStep look{[&] {
      CAPTURE(scenario.name);
      const bool held = is_locked(load(region.bucket(0).control));
      for (std::uint64_t key = 0; key < kKeys; ++key) {
        const auto found = find(region, key);
        if (held) {
          REQUIRE_FALSE(found);
        } else {
          REQUIRE(found == at(before, key));
        }
      }
    }};
    scenario.change(region, 2, look);
    // What has limited room keeps it from others of limited room, since it has just been read.
    const bool is_kept = scenario.room == Room::limited && !scenario.limited.empty() &&
                         at(before, scenario.key) == std::nullopt;
    CHECK(contents_of(region) == (is_kept ? before : after));
  }
}

TEST_CASE("a reader overtaken by a whole change between any two loads sees one of its sides") {
  for (const Scenario& scenario : scenarios()) {
    const Contents before = contents_of(scenario.before());
    const Contents after = scenario.after();
    for (std::uint64_t key = 0; key < kKeys; ++key) {
      for (std::size_t load_number = 0;; ++load_number) {
        CAPTURE(scenario.name, key, load_number);
        const Region region = scenario.before();
        AtOneStep overtaken{load_number, [&] { scenario.change(region, 2, kUninterrupted); }};
        const auto found = find_entry(region.bucket(0), key_number(key), overtaken);
        CHECK((found == at(before, key) || found == at(after, key)));
        if (!overtaken.done) break;
      }
    }
  }
}

TEST_CASE("a reader overtaken by a part of a change sees the old side, or misses") {
  for (const Scenario& scenario : scenarios()) {
    const Contents before = contents_of(scenario.before());
    bool change_through = false;
    for (std::size_t steps = 0; !change_through; ++steps) {
      for (std::size_t load_number = 0;; ++load_number) {
        CAPTURE(scenario.name, steps, load_number);
        const Region region = scenario.before();
        AtOneStep overtaken{load_number, [&] {
                              StopAfter stop{steps};
                              try {
                                scenario.change(region, 2, stop);
                                change_through = true;
                              } catch (const Abandoned&) {
                              }
                            }};
        const auto found = find_entry(region.bucket(0), key_number(scenario.key), overtaken);
        if (!overtaken.done || change_through) break;
        CHECK((!found || found == at(before, scenario.key)));
      }
    }
  }
}

}  // namespace prophecy::table
