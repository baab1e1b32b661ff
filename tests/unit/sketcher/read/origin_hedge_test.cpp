// Hedged reads: a second origin is asked when the first one takes long.
#include "origin_asks_world.hpp"

namespace prophecy::sketcher {

using namespace read_test;

namespace {

constexpr Duration kLatency = milliseconds(10);

struct HedgedWorld {
  HedgedWorld() {
    world.learn(kLatency);
    world.start(Failing::to_group, true);
    REQUIRE(world.took() == Lines{"hedge", "ask 0 in 0"});
  }
  void hedge() {
    world.asks.on_hedge_time(world.now);
    REQUIRE(world.took() == Lines{"ask 1 in 1"});
  }
  AsksWorld world;
};

}  // namespace

TEST_CASE("A hedge waits for the time that most reads of f+1 origins take") {
  HedgedWorld hedged;
  CHECK(hedged.world.hedge_delay >= kLatency);
  CHECK(hedged.world.hedge_delay < 2 * kLatency);
}

TEST_CASE("No hedge is armed while too little is known, or where the route has none") {
  AsksWorld world;
  SECTION("of origins") {
    world.learn(kLatency, 1);
    world.start(Failing::to_group, true);
  }
  SECTION("of reads") {
    world.learn(kLatency, 2, 5);
    world.start(Failing::to_group, true);
  }
  SECTION("by the route") {
    world.learn(kLatency);
    world.start(Failing::to_group, false);
  }
  CHECK(world.took() == Lines{"ask 0 in 0"});
}

TEST_CASE("A hedge asks a healthy origin that was not asked, if it is paid for") {
  HedgedWorld hedged;
  AsksWorld& world = hedged.world;
  SECTION("another one") {
    hedged.hedge();
    CHECK(world.counters.hedged.get() == 1);
    CHECK((world.asks.is_active(0) && world.asks.is_active(1)));
    CHECK(world.asks.replica(1) == 1);
  }
  SECTION("none is healthy") {
    world.health.publish(0b0001, 0);
    world.asks.on_hedge_time(world.now);
    CHECK(world.took().empty());
    CHECK(world.counters.hedged.get() == 0);
  }
  SECTION("others' hedges have used up what was saved") {
    while (world.core.group.hedges().take()) {
    }
    world.asks.on_hedge_time(world.now);
    CHECK(world.took().empty());
    CHECK(world.counters.hedged.get() == 0);
  }
}

TEST_CASE("The first to answer decides, and the other is cancelled") {
  HedgedWorld hedged;
  AsksWorld& world = hedged.world;
  hedged.hedge();
  const std::uint8_t first = GENERATE(std::uint8_t{0}, std::uint8_t{1});
  CHECK(world.asks.on_end(first, ExchangeEnd::answered, world.now) == AskStep::over);
  CHECK(world.took() == Lines{first == 0 ? "cancel 1" : "cancel 0"});
  CHECK(world.counters.hedges_won.get() == first);
  CHECK(world.origins[0].overtaken.get() == first);
  CHECK(world.origins[1].overtaken.get() == 0);
  // The other one was only slower: it may be asked should this answer be refused.
  world.health.publish(0b0011, 0);
  CHECK(world.asks.ask_another(world.now));
  CHECK(world.took() == Lines{first == 0 ? "ask 1 in 0" : "ask 0 in 0"});
}

TEST_CASE("A failure leaves the read to the other origin") {
  HedgedWorld hedged;
  AsksWorld& world = hedged.world;
  hedged.hedge();
  const std::uint8_t first = GENERATE(std::uint8_t{0}, std::uint8_t{1});
  const std::uint8_t other = 1 - first;
  CHECK(world.asks.on_end(first, ExchangeEnd::not_sent, world.now) == AskStep::waits);
  CHECK(world.took().empty());
  CHECK(world.ended(first, ExchangeEnd::not_sent) == 1);
  SECTION("which answers") {
    CHECK(world.asks.on_end(other, ExchangeEnd::answered, world.now) == AskStep::over);
    CHECK(world.counters.hedges_won.get() == other);
    CHECK(world.origins[0].overtaken.get() == 0);  // it had failed, and was not slower
  }
  SECTION("which fails as well: both were tried") {
    CHECK(world.asks.on_end(other, ExchangeEnd::not_sent, world.now) == AskStep::over);
  }
  CHECK(world.took().empty());
}

TEST_CASE("The hedge's time is over with the read that it belongs to") {
  HedgedWorld hedged;
  AsksWorld& world = hedged.world;
  SECTION("answered") {
    CHECK(world.asks.on_end(0, ExchangeEnd::answered, world.now) == AskStep::over);
    CHECK(world.took() == Lines{"no hedge"});
    CHECK(world.counters.hedges_won.get() == 0);
  }
  SECTION("failed over: one origin after another is enough") {
    CHECK(world.asks.on_end(0, ExchangeEnd::stale, world.now) == AskStep::waits);
    CHECK(world.took() == Lines{"no hedge", "ask 1 in 0"});
  }
  SECTION("a first piece") {
    world.asks.on_pieces(0, world.now);
    CHECK(world.took() == Lines{"no hedge"});
  }
  SECTION("cancelled") {
    world.asks.cancel();
    CHECK(world.took() == Lines{"no hedge", "cancel 0"});
  }
  SECTION("cancelled, after it") {
    hedged.hedge();
    world.asks.cancel();
    CHECK(world.took() == Lines{"cancel 0", "cancel 1"});
  }
  SECTION("no time is left") {
    hedged.hedge();
    world.asks.give_up({ExchangeEnd::timed_out, ExchangeEnd::overloaded});
    CHECK(world.took() == Lines{"cancel 0", "cancel 1"});
    CHECK(world.ended(0, ExchangeEnd::timed_out) == 1);
    CHECK(world.ended(1, ExchangeEnd::overloaded) == 1);
  }
}

TEST_CASE("Pieces of one origin cancel the other, and count as an answer") {
  HedgedWorld hedged;
  AsksWorld& world = hedged.world;
  hedged.hedge();
  world.asks.on_pieces(1, world.now);
  CHECK(world.took() == Lines{"cancel 0"});
  CHECK(world.counters.hedges_won.get() == 1);
  world.asks.on_pieces(1, world.now);
  CHECK(world.counters.hedges_won.get() == 1);
  CHECK(world.took().empty());
}

TEST_CASE("An origin is slow beyond four delays and 200 ms, in hedged reads alone") {
  AsksWorld world;
  const bool hedged = GENERATE(true, false);
  // The delay is known: some 10 ms, or some 100 ms.
  const auto [latency, slow_from] = GENERATE(Catch::Generators::table<Duration, Duration>(
      {{milliseconds(10), milliseconds(200)}, {milliseconds(100), milliseconds(400)}}));
  world.learn(latency);
  world.start(Failing::to_group, hedged);
  const bool is_beyond = GENERATE(true, false);
  world.now += is_beyond ? slow_from * 3 / 2 : slow_from;
  CHECK(world.asks.on_end(0, ExchangeEnd::answered, world.now) == AskStep::over);
  CHECK(world.origins[0].slow.get() == (hedged && is_beyond ? 1 : 0));
}

TEST_CASE(
    "An origin that is overtaken is known to have taken that long, counted from its own ask") {
  HedgedWorld hedged;
  AsksWorld& world = hedged.world;
  world.now += milliseconds(250);
  hedged.hedge();
  world.now += milliseconds(50);
  CHECK(world.asks.on_end(1, ExchangeEnd::answered, world.now) == AskStep::over);
  CHECK(world.origins[0].slow.get() == 1);  // 300 ms
  CHECK(world.origins[1].slow.get() == 0);  // 50 ms
}

}  // namespace prophecy::sketcher
