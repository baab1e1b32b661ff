// Which origins a fast read asks: the draw, and failing over.
#include "origin_asks_world.hpp"

namespace prophecy::sketcher {

using namespace read_test;

TEST_CASE("A fast read draws its origin among those whose health allows it") {
  AsksWorld world;
  world.roll = 1;
  SECTION("all of them") {
    world.start();
    CHECK(world.took() == Lines{"ask 1 in 0"});
  }
  SECTION("two of them") {
    world.health.publish(0b1100, 0);
    world.start();
    CHECK(world.took() == Lines{"ask 3 in 0"});
  }
  SECTION("where health allows none, any") {
    world.health.publish(0, 0);
    world.roll = 2;
    world.start();
    CHECK(world.took() == Lines{"ask 2 in 0"});
  }
  CHECK(world.asks.is_active(0));
  CHECK_FALSE(world.asks.is_active(1));
}

TEST_CASE(
    "An origin that has not seen the request, or has broken off, is replaced by another one") {
  AsksWorld world;
  const auto end = GENERATE(ExchangeEnd::not_sent, ExchangeEnd::stale, ExchangeEnd::broken,
                            ExchangeEnd::overloaded, ExchangeEnd::untrusted, ExchangeEnd::expired,
                            ExchangeEnd::wrong_name, ExchangeEnd::tls_failed);
  world.start();
  CHECK(world.asks.on_end(0, end, world.now) == AskStep::waits);
  CHECK(world.took() == Lines{"ask 0 in 0", "ask 1 in 0"});
  CHECK(world.asks.replica(0) == 1);
  CHECK(world.ended(0, end) == 1);
  // With f = 1, two failures say that agreement is needed.
  CHECK(world.asks.on_end(0, end, world.now) == AskStep::over);
  CHECK(world.took().empty());
  CHECK(world.ended(1, end) == 1);
}

TEST_CASE("A read that waited behind others for too long is asked of another origin, alone") {
  AsksWorld world;
  world.start();
  CHECK_FALSE(world.asks.asked().is_alone);
  CHECK(world.asks.on_end(0, ExchangeEnd::delayed, world.now) == AskStep::waits);
  CHECK(world.took() == Lines{"ask 0 in 0", "ask 1 in 0"});
  CHECK(world.asks.asked().is_alone);
  CHECK(world.ended(0, ExchangeEnd::delayed) == 1);
  // It was no failure: f of these are made up for yet, and not by the origin that delays.
  CHECK(world.asks.on_end(0, ExchangeEnd::broken, world.now) == AskStep::waits);
  CHECK(world.took() == Lines{"ask 2 in 0"});
  CHECK(world.asks.on_end(0, ExchangeEnd::broken, world.now) == AskStep::over);
  // The next read may wait behind others again, and there as well.
  world.start();
  CHECK(world.took() == Lines{"ask 0 in 0"});
  CHECK_FALSE(world.asks.asked().is_alone);
}

TEST_CASE("Of a hedged read, the origin that does not delay it goes on alone") {
  AsksWorld world;
  world.learn(milliseconds(1));
  world.start(Failing::to_group, true);
  world.asks.on_hedge_time(world.now);
  REQUIRE(world.took() == Lines{"hedge", "ask 0 in 0", "ask 1 in 1"});
  CHECK(world.asks.on_end(0, ExchangeEnd::delayed, world.now) == AskStep::waits);
  CHECK(world.took().empty());
  SECTION("and answers") {
    CHECK(world.asks.on_end(1, ExchangeEnd::answered, world.now) == AskStep::over);
    CHECK(world.took().empty());
  }
  SECTION("or delays it as well") {
    CHECK(world.asks.on_end(1, ExchangeEnd::delayed, world.now) == AskStep::waits);
    CHECK(world.took() == Lines{"ask 2 in 0"});
    CHECK(world.asks.asked().is_alone);
  }
}

TEST_CASE("An origin that was reached and failed is replaced only where no agreement follows") {
  AsksWorld world;
  const auto end = GENERATE(ExchangeEnd::timed_out, ExchangeEnd::malformed, ExchangeEnd::shed);
  const auto failing = GENERATE(Failing::to_group, Failing::to_another);
  world.start(failing);
  const bool is_replaced = failing == Failing::to_another;
  CHECK(world.asks.on_end(0, end, world.now) == (is_replaced ? AskStep::waits : AskStep::over));
  CHECK(world.took().size() == (is_replaced ? 2 : 1));
}

TEST_CASE("An answer that is too large would be so of any origin") {
  AsksWorld world;
  world.start(GENERATE(Failing::to_group, Failing::to_another));
  CHECK(world.asks.on_end(0, ExchangeEnd::too_large, world.now) == AskStep::over);
  CHECK(world.took() == Lines{"ask 0 in 0"});
}

TEST_CASE("A whole answer is the read's, and is counted once its worth is known") {
  AsksWorld world;
  world.start();
  CHECK(world.asks.on_end(0, ExchangeEnd::answered, world.now) == AskStep::over);
  CHECK_FALSE(world.asks.is_active(0));
  CHECK(world.ended(0, ExchangeEnd::answered) == 0);
  world.asks.count_answer(0, true);
  CHECK(world.ended(0, ExchangeEnd::answered) == 1);
  world.asks.count_answer(0, false);
  CHECK(world.ended(0, ExchangeEnd::malformed) == 1);
  CHECK(world.took() == Lines{"ask 0 in 0"});
}

TEST_CASE("No origin is asked twice, and f+1 of them at most") {
  AsksWorld world;
  world.roll = 3;
  world.start(Failing::to_another);
  REQUIRE(world.asks.on_end(0, ExchangeEnd::answered, world.now) == AskStep::over);
  CHECK(world.asks.ask_another(world.now));
  CHECK(world.took() == Lines{"ask 3 in 0", "ask 0 in 0"});
  REQUIRE(world.asks.on_end(0, ExchangeEnd::answered, world.now) == AskStep::over);
  CHECK_FALSE(world.asks.ask_another(world.now));
  CHECK(world.took().empty());
}

TEST_CASE("A stream is tried at every origin that health allows, once") {
  AsksWorld world;
  const auto start = [&] {
    world.asks.start(world.core.group, world.counters, Failing::to_group, false,
                     {.is_streamed = true}, world.now);
  };
  const auto end = GENERATE(ExchangeEnd::overloaded, ExchangeEnd::not_sent, ExchangeEnd::stale);
  SECTION("all of them") {
    start();
    for (int i = 0; i < 3; ++i)
      CHECK(world.asks.on_end(0, end, world.now) == AskStep::waits);
    CHECK(world.took() == Lines{"ask 0 in 0", "ask 1 in 0", "ask 2 in 0", "ask 3 in 0"});
    CHECK(world.asks.on_end(0, end, world.now) == AskStep::over);
  }
  SECTION("three of them") {
    world.health.publish(0b1011, 0);
    start();
    for (int i = 0; i < 2; ++i)
      CHECK(world.asks.on_end(0, end, world.now) == AskStep::waits);
    CHECK(world.took() == Lines{"ask 0 in 0", "ask 1 in 0", "ask 3 in 0"});
    CHECK(world.asks.on_end(0, end, world.now) == AskStep::over);
  }
  SECTION("one that has the request, and does not answer, is the last") {
    start();
    CHECK(world.asks.on_end(0, ExchangeEnd::quiet, world.now) == AskStep::over);
  }
}

TEST_CASE("A read begins anew with every origin to draw from") {
  AsksWorld world;
  for (int i = 0; i < 3; ++i) {
    world.start();
    CHECK(world.asks.on_end(0, ExchangeEnd::not_sent, world.now) == AskStep::waits);
    CHECK(world.took() == Lines{"ask 0 in 0", "ask 1 in 0"});
    world.asks.cancel();
    CHECK(world.took() == Lines{"cancel 0"});
  }
}

TEST_CASE("An answer in pieces is the read's from its first piece on") {
  AsksWorld world;
  world.start(Failing::to_another);
  world.asks.on_pieces(0, world.now);
  SECTION("its end is counted, and no origin takes its place") {
    const auto end = GENERATE(ExchangeEnd::broken, ExchangeEnd::answered);
    CHECK(world.asks.on_end(0, end, world.now) == AskStep::over);
    CHECK(world.ended(0, end) == 1);
    CHECK(world.took() == Lines{"ask 0 in 0"});
  }
  SECTION("one that cannot be handed on is malformed, and another origin is asked, f times") {
    CHECK(world.asks.reject(0, world.now) == AskStep::waits);
    CHECK(world.took() == Lines{"ask 0 in 0", "cancel 0", "ask 1 in 0"});
    CHECK(world.ended(0, ExchangeEnd::malformed) == 1);
    world.asks.on_pieces(0, world.now);
    CHECK(world.asks.reject(0, world.now) == AskStep::over);
    CHECK(world.took() == Lines{"cancel 0"});
  }
  SECTION("handed over, it is cancelled by another object") {
    world.asks.hand_over(0);
    world.asks.cancel();
    CHECK(world.took() == Lines{"ask 0 in 0"});
  }
}

TEST_CASE("A read that has no more time counts how its exchanges would have ended") {
  AsksWorld world;
  world.start();
  world.asks.give_up({ExchangeEnd::overloaded, ExchangeEnd::timed_out});
  CHECK(world.took() == Lines{"ask 0 in 0", "cancel 0"});
  CHECK(world.ended(0, ExchangeEnd::overloaded) == 1);
  CHECK(world.ended(0, ExchangeEnd::timed_out) == 0);
}

}  // namespace prophecy::sketcher
