#include "sketcher/shared/worker_turns.hpp"

#include <array>

#include <catch2/catch.hpp>

namespace prophecy::sketcher {

TEST_CASE("A turn is over once each worker has passed one since, or has ended") {
  std::array<WorkerTurns::Place, 3> places;
  std::atomic<std::uint64_t> wanted{0};
  const WorkerTurns turns(places, wanted);
  // Nobody is there.
  CHECK(turns.have_all_passed(turns.ask()));
  turns.begin(0);
  turns.begin(1);
  const std::uint64_t turn = turns.ask();
  CHECK_FALSE(turns.have_all_passed(turn));
  CHECK(turns.is_behind(0));
  turns.pass(0);
  CHECK_FALSE(turns.is_behind(0));
  CHECK_FALSE(turns.have_all_passed(turn));
  turns.leave(1);
  CHECK(turns.have_all_passed(turn));
  // One that begins later has no claims from before.
  turns.begin(1);
  CHECK(turns.have_all_passed(turn));
  const std::uint64_t next = turns.ask();
  turns.pass(0);
  CHECK_FALSE(turns.have_all_passed(next));
  turns.pass(1);
  CHECK(turns.have_all_passed(next));
}

TEST_CASE("A barrier is that of its ticket") {
  std::array<WorkerTurns::Place, 1> places;
  std::atomic<std::uint64_t> wanted{0};
  const WorkerTurns turns(places, wanted);
  turns.begin(0);
  const std::uint64_t first = turns.ask();
  turns.ask_barrier(0, first);
  CHECK_FALSE(turns.ended_barrier(0, first).has_value());
  CHECK(turns.wanted_barrier(0) == first);
  turns.end_barrier(0, first, 17);
  REQUIRE(turns.ended_barrier(0, first).has_value());
  CHECK(turns.ended_barrier(0, first)->number == std::optional<Sigma>(17));
  const std::uint64_t second = turns.ask();
  turns.ask_barrier(0, second);
  CHECK_FALSE(turns.ended_barrier(0, second).has_value());
  turns.end_barrier(0, second, std::nullopt);
  REQUIRE(turns.ended_barrier(0, second).has_value());
  CHECK_FALSE(turns.ended_barrier(0, second)->number.has_value());
  // The worker was late: nobody waits for that one any more.
  CHECK_FALSE(turns.ended_barrier(0, first).has_value());
}

}  // namespace prophecy::sketcher
