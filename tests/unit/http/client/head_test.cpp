// HEAD, behind whose answer an origin may send a body by mistake, and who may follow it.
#include "client/pool_world.hpp"

using namespace prophecy;
using namespace prophecy::http;
using namespace prophecy::test;

namespace {

const std::string kHead = "HEAD /a HTTP/1.1\r\nhost: x\r\n\r\n";
const Step kHeadAnswer{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"};

ExchangeRequest head(bool verified) {
  return {.wire = kHead, .answers_head = true, .repeat_when_stale = true, .verified = verified};
}

void ask_head(World& world, bool verified) {
  Call call(world.pool);
  world.pool.start(call.exchange, head(verified));
  REQUIRE(world.run(call) == Ends{ExchangeEnd::answered});
  world.settle();
}

}  // namespace

TEST_CASE("Verified HEADs share one connection") {
  World world({kHeadAnswer});
  for (int i = 0; i < 100; ++i) {
    Call call(world.pool);
    world.pool.start(call.exchange, head(true));
    REQUIRE(world.run(call) == Ends{ExchangeEnd::answered});
  }
  CHECK(world.origin.accepted == 1);
}

TEST_CASE("Behind an unverified HEAD its connection is reset, which leaves no port in TIME_WAIT") {
  World world({kHeadAnswer});
  for (int i = 0; i < 3; ++i)
    ask_head(world, false);
  CHECK(world.pool.connections() == 0);
  CHECK(world.origin.accepted == 3);
  CHECK(world.origin.resets == 3);
}

TEST_CASE("A body behind the answer to HEAD is nobody's answer") {
  World world({kHeadAnswer, answer("asked for")});
  ask_head(world, true);
  // It is on its way when the next request is sent.
  world.origin.send(0, answer("stray").answer);
  SECTION("of one that could not tell") {
    CHECK(world.ask() == "asked for");
    CHECK(world.origin.accepted == 2);
  }
  SECTION("of one that comes later") {
    world.settle();
    CHECK(world.pool.connections() == 0);
    CHECK(world.ask() == "asked for");
  }
}

TEST_CASE("HEAD goes where HEAD was before, and leaves the other connections to others") {
  World world({answer("a"), answer("b"), kHeadAnswer, answer("c"), kHeadAnswer, answer("d")});
  Call first(world.pool), second(world.pool);
  first.start(true);
  second.start(true);
  (void)world.run(first);
  (void)world.run(second);
  world.settle();
  CHECK(world.origin.accepted == 2);
  ask_head(world, true);
  CHECK(world.ask() == "c");
  ask_head(world, true);
  CHECK(world.ask() == "d");
  CHECK(world.origin.accepted == 2);
}

TEST_CASE("A connection of HEAD's gives its place to one that others can use") {
  World world({kHeadAnswer, answer("x")}, 1);
  ask_head(world, true);
  CHECK(world.ask() == "x");
  CHECK(world.origin.accepted == 2);
  CHECK(world.origin.resets == 1);
}

TEST_CASE("What nobody waits for any more is reset if it is verified, and changes nothing then") {
  const bool verified = GENERATE(false, true);
  World world({kSilence});
  Call call(world.pool);
  world.pool.start(call.exchange, {.wire = kRequest, .verified = verified});
  world.run_until_busy();
  call.exchange.cancel();
  world.settle();
  CHECK(world.pool.connections() == 0);
  CHECK(world.origin.resets == (verified ? 1 : 0));
}
