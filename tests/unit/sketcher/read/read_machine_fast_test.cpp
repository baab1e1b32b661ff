// Fast reads of an enforced route: docs/reads.md, states `fast` and what follows.
#include "read_world.hpp"

namespace prophecy::sketcher {

using namespace read_test;
using State = ReadMachine::State;

namespace {

struct FastWorld : ReadWorld {
  FastWorld() { remember(reader.key(), sketch("A")); }
  void start() {
    reader.start();
    REQUIRE(reader.took() == Lines{"deadline", "ask 0"});
    REQUIRE(reader.machine.state() == State::fast);
  }
  Reader reader{*this};
};

}  // namespace

TEST_CASE("fast: an answer that the history holds is delivered, verified") {
  FastWorld world;
  world.start();
  CHECK(world.reader.machine.asked().is_verified);
  CHECK(world.counters.reads.get() == 1);
  world.reader.answer("A");
  CHECK(world.reader.took() == Lines{"no deadline", "deliver 200 A, verified, an origin's"});
  CHECK(world.counters.answered_fast.get() == 1);
  CHECK(world.ended(0, ExchangeEnd::answered) == 1);
  CHECK(world.reader.machine.answer_sketch() == world.sketch("A"));
  CHECK(world.calls.empty());
}

TEST_CASE("fast: any other answer leads to the group") {
  FastWorld world;
  world.start();
  world.reader.answer("X");
  CHECK(world.reader.took().empty());
  CHECK(world.reader.machine.state() == State::shared);
  REQUIRE(world.calls.size() == 1);
  SECTION("which refutes it: the client gets the group's, and the origin is accused") {
    world.answer(1, "A", 10);
    CHECK(world.reader.took() == Lines{"no deadline", "deliver 200 A, verified"});
    CHECK(world.counters.answered_replicated.get() == 1);
    REQUIRE(world.accused.size() == 1);
    CHECK(world.accused[0].replica == 0);
    CHECK(world.accused[0].answer_digest == to_hex(world.sketch("X")));
  }
  SECTION("whose state has changed") {
    world.answer(1, "X", 10);
    CHECK(world.reader.took() == Lines{"no deadline", "deliver 200 X, verified"});
    CHECK(world.accused.empty());
    CHECK(world.counters.transitions.get() == 1);
  }
  SECTION("which fails") {
    world.fail(1, ReplicatedFailure::no_agreement);
    CHECK(world.reader.took() == Lines{"no deadline", "refuse 502 no-agreement"});
    CHECK(world.counters.failed.get() == 1);
    const auto failure = static_cast<std::size_t>(ReplicatedFailure::no_agreement);
    CHECK(world.counters.replicated_failures[failure].get() == 1);
  }
  CHECK(world.counters.answered_fast.get() == 0);
}

TEST_CASE("fast: the second look-up decides") {
  FastWorld world;
  world.start();
  SECTION("the history has changed") {
    world.remember(world.reader.key(), world.sketch("B"), 2);
    world.reader.answer("A");
    CHECK(world.reader.machine.state() == State::shared);
  }
  SECTION("a write was answered meanwhile") {
    world.floors.raise(world.floors.slot_of("a", "/"), 1);
    world.reader.answer("A");
    CHECK(world.reader.machine.state() == State::shared);
    CHECK(world.counters.out_of_date.get() == 1);
  }
  SECTION("the entry lies above what was written") {
    world.remember(world.reader.key(), world.sketch("A"), 3);
    world.floors.raise(world.floors.slot_of("a", "/"), 2);
    world.reader.answer("A");
    CHECK(world.reader.took() == Lines{"no deadline", "deliver 200 A, verified, an origin's"});
  }
}

TEST_CASE("fast: origins that cannot be reached are replaced, then the group is asked") {
  FastWorld world;
  world.start();
  world.reader.fail(ExchangeEnd::not_sent);
  CHECK(world.reader.took() == Lines{"ask 1"});
  CHECK(world.reader.machine.state() == State::fast);
  SECTION("the next one answers") {
    world.reader.answer("A");
    CHECK(world.reader.took() == Lines{"no deadline", "deliver 200 A, verified, an origin's"});
  }
  SECTION("the next one cannot be reached") {
    world.reader.fail(ExchangeEnd::not_sent);
    CHECK(world.reader.machine.state() == State::shared);
    world.answer(1, "A", 10);
    CHECK(world.reader.took() == Lines{"no deadline", "deliver 200 A, verified"});
    CHECK(world.accused.empty());
  }
}

TEST_CASE("fast: the time for a read is all it has") {
  FastWorld world;
  world.start();
  SECTION("while an origin is asked") {
    world.reader.deadline({ExchangeEnd::overloaded, ExchangeEnd::timed_out});
    CHECK(world.reader.took() == Lines{"cancel 0", "refuse 504 read-timeout"});
    CHECK(world.ended(0, ExchangeEnd::overloaded) == 1);
  }
  SECTION("while the group is asked") {
    world.reader.fail(ExchangeEnd::timed_out);
    REQUIRE(world.calls.size() == 1);
    world.reader.deadline();
    CHECK(world.reader.took() == Lines{"refuse 504 read-timeout"});
    CHECK(world.calls.empty());
    CHECK(world.ended(0, ExchangeEnd::timed_out) == 1);  // once, by its own end
  }
  CHECK(world.counters.failed.get() == 1);
  CHECK(world.counters.abandoned.get() == 0);
}

TEST_CASE("fast: a client that leaves cancels what is under way") {
  FastWorld world;
  world.start();
  const std::uint32_t serial = world.reader.machine.serial();
  SECTION("an origin") {
    world.reader.leave();
    CHECK(world.reader.took() == Lines{"cancel 0", "no deadline"});
  }
  SECTION("a call") {
    world.reader.answer("X");
    world.reader.leave();
    CHECK(world.reader.took() == Lines{"no deadline"});
    CHECK(world.calls.empty());
  }
  CHECK(world.counters.abandoned.get() == 1);
  CHECK(world.reader.machine.serial() != serial);
  world.reader.leave();
  CHECK(world.counters.abandoned.get() == 1);
  world.start();  // it serves the next one
  world.reader.answer("A");
  CHECK(world.counters.answered_fast.get() == 1);
}

TEST_CASE("fast: an answer that may not be sketched validates nothing") {
  FastWorld world;
  world.start();
  world.reader.answer("A", 503);
  CHECK(world.ended(0, ExchangeEnd::answered) == 1);
  CHECK(world.reader.machine.state() == State::shared);
  world.answer(1, "A", 10);
  CHECK(world.accused.empty());
  CHECK(world.noise() == 1);
  CHECK(world.origins[0].error_answers.get() == 1);
}

TEST_CASE("fast: an answer without a canonical form is evidence by its status") {
  FastWorld world;
  world.start();
  http::Response response = response_of("A", GENERATE(std::uint16_t{418}, std::uint16_t{503}));
  response.fields.add("connection", "set-cookie");
  const bool accuses = response.status == 418;
  world.reader.answer(0, std::move(response));
  CHECK(world.ended(0, ExchangeEnd::answered) == 1);  // agreement judges it
  world.answer(1, "A", 10);
  REQUIRE(world.accused.size() == (accuses ? 1 : 0));
  CHECK((!accuses || world.accused[0].answer_digest.empty()));
}

TEST_CASE(
    "fast: a read with visible exceptions goes to its origin with them, to the group without") {
  ReadWorld world;
  Reader reader(world);
  world.remember(reader.key(), world.sketch("A"));
  reader.start("GET", std::string(kAgent));
  REQUIRE(reader.wires.size() == 1);
  CHECK(reader.wires[0].find("curl") != std::string::npos);
  reader.answer("X");
  REQUIRE(world.calls.size() == 1);
  CHECK(world.calls[1].find("curl") == std::string::npos);
}

TEST_CASE("fast: a HEAD is asked for as one, and has its own entry") {
  ReadWorld world;
  Reader reader(world);
  const Sketch key = history_key(world.floors, world.function, form_of("HEAD", ""));
  world.remember(key, world.sketch(""));
  reader.start("HEAD");
  CHECK(reader.machine.asked().is_head);
  CHECK(reader.took() == Lines{"deadline", "ask 0"});
  // An origin's answer to HEAD declares the length of what is not there.
  http::Response response = response_of("");
  response.fields.add("content-length", "17");
  reader.answer(0, std::move(response));
  CHECK(reader.machine.state() == State::shared);  // an answer without that length was remembered
}

TEST_CASE("fast: a valid answer is made to fail as often as a measurement asks for") {
  FastWorld world;
  world.worker.forced_share = 0.5;
  const bool is_forced = GENERATE(true, false);
  world.start();
  world.roll = (1U << 19) - (is_forced ? 1 : 0);
  world.reader.answer("A");
  CHECK((world.reader.machine.state() == State::shared) == is_forced);
  CHECK(world.counters.forced_transitions.get() == (is_forced ? 1 : 0));
  if (!is_forced) return;
  world.answer(1, "A", 10);
  CHECK(world.accused.empty());
  CHECK(world.noise() == 0);
}

TEST_CASE("fast: a hedged read has two origins, and one answer") {
  FastWorld world;
  for (NodeId origin = 0; origin < 2; ++origin) {
    for (std::uint32_t i = 0; i < replica_client::LatencyQuantile::kNeeded; ++i)
      world.core.group.hedges().on_latency(origin, milliseconds(10));
  }
  for (int i = 0; i < 20; ++i)
    static_cast<void>(world.core.group.hedges().on_read());
  world.reader.request.may_hedge = true;
  world.reader.start();
  const Lines began = world.reader.took();
  REQUIRE(began.size() == 3);
  CHECK(began[1].starts_with("hedge after "));
  world.reader.hedge_time();
  CHECK(world.reader.took() == Lines{"ask 1 as well"});
  SECTION("of the second one") {
    world.reader.answer(1, response_of("A"));
    CHECK(world.reader.took() ==
          Lines{"cancel 0", "no deadline", "deliver 200 A, verified, an origin's"});
  }
  SECTION("that differs: its own origin is accused") {
    world.reader.answer(1, response_of("X"));
    CHECK(world.reader.took() == Lines{"cancel 0"});
    world.answer(1, "A", 10);
    REQUIRE(world.accused.size() == 1);
    CHECK(world.accused[0].replica == 1);
  }
  SECTION("the time is over for both") {
    world.reader.deadline();
    CHECK(world.reader.took() == Lines{"cancel 0", "cancel 1", "refuse 504 read-timeout"});
    CHECK(world.ended(0, ExchangeEnd::timed_out) == 1);
    CHECK(world.ended(1, ExchangeEnd::timed_out) == 1);
  }
}

}  // namespace prophecy::sketcher
