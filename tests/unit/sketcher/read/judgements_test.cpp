// Condition 1 of docs/reads.md: votes and answers are judged once n - f members have given the
// agreed answer, which may be known long after it.
#include "shared_reads_world.hpp"

namespace prophecy::sketcher {

using namespace shared_reads_test;

namespace {

constexpr std::uint64_t kJudgementsKept = 128;

// The first call, whose answer fewer than n - f members gave.
struct WeakWorld : World {
  WeakWorld() {
    REQUIRE(table.update(kKey, sketch("A"), 1) == UpdateOutcome::inserted);
    client.ask();
    answer(1, "A", 10, std::nullopt, 200, false);
  }
  Client client{*this};
};

}  // namespace

TEST_CASE("A vote behind the n - f equal ones, and behind the answer, accuses at once") {
  WeakWorld world;
  world.reads.on_strong_agreement(1, world.now);
  world.refute(1, 3);
  CHECK(world.accused.size() == 1);
  CHECK(world.noise() == 0);
}

TEST_CASE("A vote accuses only while the history holds the agreed answer") {
  WeakWorld world;
  world.refute(1, 3);
  REQUIRE(world.table.update(kKey, world.sketch("B"), 20) == UpdateOutcome::replaced);
  world.reads.on_strong_agreement(1, world.now);
  CHECK(world.accused.empty());
  CHECK(world.noise() == 1);
}

TEST_CASE("128 judgements wait for more votes: the oldest gives way, and its votes are noise") {
  WeakWorld world;
  world.refute(1, 3);
  const bool is_full = GENERATE(false, true);
  Client others(world);
  for (std::uint64_t call = 2; call <= kJudgementsKept + (is_full ? 1 : 0); ++call) {
    others.ask();
    world.answer(call, "A", 10 + call, std::nullopt, 200, false);
  }
  CHECK(world.noise() == (is_full ? 1 : 0));
  world.reads.on_strong_agreement(1, world.now);
  CHECK(world.accused.size() == (is_full ? 0 : 1));
}

TEST_CASE("Of a call's votes, as many are kept as the group has members") {
  World world;
  REQUIRE(world.table.update(kKey, world.sketch("A"), 1) == UpdateOutcome::inserted);
  Client client(world);
  client.ask();
  for (int i = 0; i < 6; ++i)
    world.refute(1, 3);
  world.answer(1, "A", 10);
  CHECK(world.accused.size() == world.origins.size());
}

}  // namespace prophecy::sketcher
