// HTTP/2 on one connection, in virtual time: what a session does with a client that is slow, or
// takes nothing. The client's side is nghttp2's.
#include <memory>
#include <vector>

#include <catch2/catch.hpp>

#include "http2_session_world.hpp"
#include "sketcher/core/admission/places.hpp"
#include "sketcher/core/admission/shedding.hpp"

namespace prophecy::sketcher {

using namespace session_test;

TEST_CASE("HTTP/2: requests are handed over with the time, and answered in any order") {
  Http2World world;
  const std::int32_t first = world.peer.get("/1");
  world.begin();
  Handler& one = world.handler();
  const std::int32_t second = world.peer.get("/2");
  world.now += seconds(3);
  world.exchange();
  Handler& two = world.handler();
  CHECK(one.asked == std::vector<std::string>{"GET /1 "});
  CHECK(two.asked == std::vector<std::string>{"GET /2 "});
  CHECK(two.started.back() - one.started.back() == seconds(3));
  two.answer("b");
  one.answer("a");
  world.exchange();
  CHECK(world.peer.answers[first].body == "a");
  CHECK(world.peer.answers[second].body == "b");
  CHECK(world.counters.asking_bytes.get() == 0);
}

TEST_CASE("HTTP/2: a client without a request has its time, and is told goodbye") {
  Http2World world;
  const bool served = GENERATE(false, true);
  if (served) world.peer.get("/");
  world.begin();
  if (served) world.handler().answer("a");
  world.exchange();
  world.wait((served ? seconds(60) : seconds(10)) - kMoment);
  CHECK_FALSE(world.peer.goodbye);
  world.wait(kMoment);
  CHECK(world.peer.goodbye);
  CHECK(world.client.finished);
  CHECK(world.timeouts() == 0);
}

TEST_CASE("HTTP/2: a connection that waits for a second rests, until something comes") {
  Http2World world;
  world.peer.get("/1");
  world.begin();
  world.handler().answer("a");
  world.exchange();
  world.wait(seconds(1) - kMoment);
  CHECK(world.http2.memory.packed() == 0);
  world.wait(kMoment);
  CHECK(world.http2.memory.packed() == 1);
  SECTION("a request, which is answered as ever") {
    const std::int32_t next = world.peer.get("/next");
    world.exchange();
    CHECK(world.http2.memory.packed() == 0);
    world.wait(seconds(2));
    CHECK(world.http2.memory.packed() == 0);  // its answer is awaited
    world.handler().answer("b");
    world.exchange();
    CHECK(world.peer.answers[next].body == "b");
    world.wait(seconds(1));
    CHECK(world.http2.memory.packed() == 1);
  }
  SECTION("other frames, which do not lengthen its time") {
    Duration waited = seconds(1);
    for (const int lulls : {2, 4, 8, 8, 8, 8, 8, 8}) {
      world.peer.ping();
      world.exchange();
      world.wait(seconds(lulls) - kMoment);
      CHECK(world.http2.memory.packed() == 0);
      world.wait(kMoment);
      CHECK(world.http2.memory.packed() == 1);
      waited += seconds(lulls);
      REQUIRE_FALSE(world.peer.goodbye);
    }
    world.wait(seconds(60) - waited);
    CHECK(world.peer.goodbye);
    CHECK(world.client.finished);
  }
  SECTION("other frames, and then a request, after which one second is enough again") {
    for (const int lulls : {2, 4}) {
      world.peer.ping();
      world.wait(seconds(lulls));
      CHECK(world.http2.memory.packed() == 0);
      world.wait(seconds(lulls));
      CHECK(world.http2.memory.packed() == 1);
    }
    world.peer.get("/next");
    world.exchange();
    world.handler().answer("b");
    world.exchange();
    world.wait(seconds(1) - kMoment);
    CHECK(world.http2.memory.packed() == 0);
    world.wait(kMoment);
    CHECK(world.http2.memory.packed() == 1);
  }
  SECTION("the worker's end") {
    world.client.drain();
    world.exchange();
    CHECK(world.peer.goodbye);
  }
  SECTION("the client's, without a word") {
    world.client.reset();
    CHECK(world.client.over());
  }
}

namespace {

// The connections of one worker. Each has had a request, and rests.
struct RestingClients final : World {
  struct One {
    One(World& world, Http2Resources& http2) : client(world, http2) {}
    void exchange() { session_test::exchange(peer, client); }

    Peer peer;
    Client<Http2Session> client;
  };

  explicit RestingClients(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      One& one = *all.emplace_back(std::make_unique<One>(*this, http2));
      one.peer.get("/");
      one.client.begin(one.peer.output());
      one.exchange();
      handler().answer("a");
      one.exchange();
    }
    advance(seconds(1));
  }
  [[nodiscard]] std::size_t restored() const { return all.size() - http2.memory.packed(); }

  Http2Resources http2{.limits = {}, .timeouts = timeouts_of};
  std::vector<std::unique_ptr<One>> all;
};

}  // namespace

TEST_CASE("HTTP/2: many connections that end at once are not restored at once") {
  RestingClients world(100);
  REQUIRE(world.restored() == 0);
  const bool is_blocked = GENERATE(false, true);
  for (auto& one : world.all)
    one->client.socket_bytes = is_blocked ? 0 : 1 << 20;
  SECTION("in a turn of the loop for each") {
    SECTION("the worker's end") {
      for (auto& one : world.all)
        one->client.drain();
    }
    SECTION("their time is over") {
      world.advance(seconds(59));
    }
    CHECK(world.restored() == 0);
    for (auto& one : world.all) {
      REQUIRE(one->client.turn());
      REQUIRE(world.restored() == 0);
      REQUIRE(one->client.finished == !is_blocked);
    }
    for (auto& one : world.all) {
      one->client.socket_bytes = 1 << 20;
      if (is_blocked) one->peer.receive(one->client.take(0));  // the kernel says so
      one->exchange();
      REQUIRE(world.restored() == 0);
      REQUIRE(one->client.finished);
      REQUIRE(one->peer.goodbye);
    }
  }
  SECTION("others need their places") {
    CHECK(end_idle({&world.timeouts_of.idle}, world.now, world.all.size()) == world.all.size());
    CHECK(world.restored() == 0);
    for (auto& one : world.all) {
      REQUIRE(one->client.closed);
      one->exchange();
      REQUIRE(one->peer.goodbye == !is_blocked);
    }
  }
}

TEST_CASE("HTTP/2: a request that comes as its connection ends is not begun") {
  RestingClients world(1);
  RestingClients::One& one = *world.all.front();
  one.client.drain();
  const std::int32_t late = one.peer.get("/late");
  one.client.send(one.peer.output());
  one.exchange();
  CHECK(one.peer.goodbye);
  CHECK(one.client.finished);
  CHECK(one.peer.answers[late].error == NGHTTP2_REFUSED_STREAM);
  CHECK(world.handlers().size() == 1);
}

TEST_CASE("HTTP/2: a body that does not come is answered 408, and the connection goes on") {
  Http2World world;
  const std::int32_t stream = world.peer.put("/");
  world.begin();
  world.wait(seconds(20) - kMoment);
  CHECK(world.peer.answers[stream].status.empty());
  world.wait(kMoment);
  CHECK(world.peer.answers[stream].status == "408");
  CHECK(world.timeouts() == 1);
  CHECK(world.counters.arriving_bytes.get() == 0);
  const std::int32_t next = world.peer.get("/next");
  world.exchange();
  world.handler().answer("a");
  world.exchange();
  CHECK(world.peer.answers[next].body == "a");
}

TEST_CASE("HTTP/2: a stream whose window stays shut is broken off, others go on") {
  Http2World world(true);
  const std::int32_t stuck = world.peer.get("/1");
  world.begin();
  world.handler().answer("aaaa");
  world.exchange();
  CHECK(world.counters.untaken_bytes.get() > 0);
  world.wait(seconds(30) - kMoment);
  CHECK_FALSE(world.peer.answers[stuck].over);
  const std::int32_t other = world.peer.get("/2");
  world.exchange();
  world.handler().answer("bb");
  world.peer.open_windows(other, 10);
  world.exchange();
  CHECK(world.peer.answers[other].body == "bb");
  world.wait(kMoment);
  CHECK(world.peer.answers[stuck].over);
  CHECK(world.peer.answers[stuck].error != NGHTTP2_NO_ERROR);
  CHECK(world.timeouts() == 1);
  CHECK(world.counters.untaken_bytes.get() == 0);
  CHECK_FALSE(world.client.over());
}

TEST_CASE("HTTP/2: a client that takes nothing of what the socket holds is cut off") {
  Http2World world(false, 10'000);
  world.peer.get("/");
  world.begin();
  world.handler().answer(std::string(1 << 20, 'x'));
  CHECK(world.client.turn());
  SECTION("when its time is over") {
    world.advance(seconds(30) - kMoment);
    CHECK_FALSE(world.client.over());
    world.advance(kMoment);
  }
  SECTION("sooner, when room is needed") {
    CHECK(shed({&world.timeouts_of.send}, world.now, [] { return false; }) >= 1);
  }
  CHECK(world.client.closed);
  CHECK(world.timeouts() >= 1);
  CHECK(world.counters.untaken_bytes.get() == 0);
}

TEST_CASE("HTTP/2: drained, it answers what it has, and takes no more") {
  Http2World world;
  const std::int32_t stream = world.peer.get("/");
  world.begin();
  world.client.drain();
  world.exchange();
  CHECK(world.peer.goodbye);
  CHECK_FALSE(world.client.over());
  world.handler().answer("a");
  world.exchange();
  CHECK(world.peer.answers[stream].body == "a");
  CHECK(world.client.finished);
}

}  // namespace prophecy::sketcher
