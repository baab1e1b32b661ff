// HTTP/2 on one connection, in virtual time: clients that take little, and what they may hold.
#include <catch2/catch.hpp>

#include "http2_session_world.hpp"
#include "sketcher/core/admission/shedding.hpp"

namespace prophecy::sketcher {

using namespace session_test;

namespace {

std::size_t busy(const World& world) {
  return static_cast<std::size_t>(
      std::count_if(world.handlers().begin(), world.handlers().end(),
                    [](const Handler* handler) { return handler->busy; }));
}

// The newest of those under way.
Handler& busy_handler(const World& world) {
  const auto found = std::find_if(world.handlers().rbegin(), world.handlers().rend(),
                                  [](const Handler* handler) { return handler->busy; });
  REQUIRE(found != world.handlers().rend());
  return **found;
}

}  // namespace

TEST_CASE("HTTP/2: a client that reads slowly has its time for every 4 KiB that the kernel sends") {
  Http2World world(false, 100'000);
  world.peer.get("/");
  world.begin();
  world.handler().answer(std::string(1'000'000, 'x'));
  CHECK(world.client.turn());
  // The kernel says nothing of the room that it has again.
  for (int i = 0; i < 5; ++i) {
    world.advance(seconds(29));
    CHECK(world.client.take(LeastProgress::kBytes, true).size() == LeastProgress::kBytes);
  }
  CHECK_FALSE(world.client.over());
  CHECK(world.timeouts() == 0);
  world.advance(seconds(60));
  CHECK(world.client.closed);
  CHECK(world.timeouts() >= 1);
}

TEST_CASE("HTTP/2: a client that reads slowly gets all of its answer") {
  Http2World world(false, 100'000);
  const std::int32_t stream = world.peer.get("/");
  world.begin();
  const std::string body(300'000, 'x');
  world.handler().answer(body);
  CHECK(world.client.turn());
  for (int i = 0; i < 100 && !world.peer.answers[stream].over; ++i) {
    world.advance(seconds(29));
    world.peer.receive(world.client.take(LeastProgress::kBytes));
    while (world.client.turn()) {
    }
  }
  CHECK((world.peer.answers[stream].body == body));
  CHECK(world.timeouts() == 0);
}

TEST_CASE("HTTP/2: windows that open by a byte are no progress") {
  Http2World world(true);
  const std::int32_t stream = world.peer.get("/");
  world.begin();
  CHECK(stream == 1);
  world.handler().answer(std::string(100'000, 'x'));
  world.exchange();
  const bool takes = GENERATE(true, false);
  const int due = takes ? 30 : 60;  // the kernel's bytes are looked at once more
  for (int second = 1; second <= due; ++second) {
    REQUIRE(world.timeouts() == 0);
    // By the bytes: nghttp2 would open the window further for what it takes.
    world.client.send(std::string("\x00\x00\x04\x08\x00\x00\x00\x00\x01\x00\x00\x00\x01", 13));
    while (world.client.turn()) {
    }
    if (takes) world.client.take_all();
    world.advance(seconds(1));
  }
  CHECK(world.timeouts() == 1);
  while (world.client.turn()) {
  }
  CHECK(world.counters.untaken_bytes.get() == 0);
  CHECK_FALSE(world.client.over());
}

TEST_CASE("HTTP/2: fields that stop coming have their time, whatever the client takes meanwhile") {
  Http2World world(false, 100'000);
  world.peer.get("/");
  world.begin();
  world.handler().answer(std::string(4'000'000, 'x'));
  CHECK(world.client.turn());
  // HEADERS of stream 3, without an end: ":method: GET".
  world.client.send(std::string("\x00\x00\x01\x01\x01\x00\x00\x00\x03\x82", 10));
  for (int second = 0; second < 9; ++second) {
    world.advance(seconds(1));
    world.client.take(10'000);
    while (world.client.turn()) {
    }
  }
  world.advance(seconds(1) - kMoment);
  CHECK_FALSE(world.client.over());
  world.advance(kMoment);
  CHECK(world.client.closed);
  CHECK(world.timeouts() == 1);
  CHECK(world.counters.arriving_bytes.get() == 0);
}

TEST_CASE("HTTP/2: the forms of heads count while their bodies come") {
  Http2World world;
  constexpr std::size_t kStreams = 3;
  std::array<std::int32_t, kStreams> streams{};
  for (std::int32_t& stream : streams)
    stream = world.peer.put("/1");
  world.begin();
  CHECK(world.counters.arriving_bytes.get() >= kStreams * Handler::kFormBytes);
  for (const std::int32_t stream : streams)
    world.peer.take_back(stream);
  world.exchange();
  CHECK(world.counters.arriving_bytes.get() == 0);
}

TEST_CASE("HTTP/2: a client that takes nothing is not listened to") {
  Http2World world;
  world.peer.get("/1");
  world.begin();
  world.client.socket_bytes = world.client.queued().size();
  world.handler().answer(std::string(1 << 20, 'x'));
  CHECK(world.client.turn());
  const std::int32_t next = world.peer.get("/2");
  const std::string request = world.peer.output();
  world.client.send(request);
  CHECK(world.client.unread() == request);
  CHECK(busy(world) == 0);
  world.client.socket_bytes = 1 << 20;
  world.client.send("");  // there is room again
  world.exchange();
  REQUIRE(busy(world) == 1);
  busy_handler(world).answer("b");
  world.exchange();
  CHECK(world.peer.answers[next].body == "b");
}

TEST_CASE("HTTP/2: no request starts while the client leaves a MiB of its answers") {
  Http2World world(true);
  const std::int32_t first = world.peer.get("/1");
  world.begin();
  const std::size_t left = GENERATE(std::size_t{1} << 20, (std::size_t{1} << 20) + 1);
  const bool waits = left > std::size_t{1} << 20;
  world.handler().answer(std::string(left, 'x'));
  world.peer.get("/2");
  world.exchange();
  CHECK(busy(world) == (waits ? 0 : 1));
  world.peer.open_windows(first, 1 << 20);
  world.exchange();
  CHECK(busy(world) == 1);
}

TEST_CASE(
    "HTTP/2: beyond half of the room for requests, those of a client that takes nothing fail") {
  Http2World world(true);
  world.peer.get("/1");
  world.begin();
  world.handler().answer(std::string(2 << 20, 'x'));
  HeldBytes::Share others(world.arriving);
  others.set(600 << 10);
  const std::int32_t second = world.peer.get("/2");
  world.exchange();
  CHECK(busy(world) == 0);
  CHECK(world.peer.answers[second].status == "503");
  CHECK(world.refused() == 1);
}

TEST_CASE("HTTP/2: with too much under way of all connections, one has 16 KiB of it") {
  Http2World world;
  HeldBytes::Share others(world.asking);
  others.set(2 << 20);
  constexpr std::size_t kStreams = 60;
  for (std::size_t i = 0; i < kStreams; ++i)
    world.peer.get("/" + std::string(1000, 'p'));
  world.begin();
  const std::size_t began = busy(world);
  CHECK(began >= 1);
  CHECK(began < 20);
  others.set(0);
  world.wait(milliseconds(200) - kMoment);
  CHECK(busy(world) == began);
  world.wait(kMoment);
  CHECK(busy(world) == kStreams);
}

TEST_CASE("HTTP/2: a body that has to make room for others is answered 408") {
  Http2World world;
  const std::int32_t stream = world.peer.put("/");
  world.begin();
  CHECK(world.counters.arriving_bytes.get() > 0);
  CHECK(shed({&world.timeouts_of.body}, world.now, [] { return false; }) == 1);
  world.exchange();
  CHECK(world.peer.answers[stream].status == "408");
  CHECK(world.counters.arriving_bytes.get() == 0);
  CHECK_FALSE(world.client.over());
}

TEST_CASE("HTTP/2: a stream whose answer is not taken gives way, and the others go on") {
  Http2World world(true);
  const std::int32_t stuck = world.peer.get("/1");
  world.begin();
  world.handler().answer(std::string(100'000, 'x'));
  const std::int32_t other = world.peer.get("/2");
  world.exchange();
  world.advance(seconds(2));
  CHECK(shed({&world.timeouts_of.send}, world.now, [] { return false; }) == 1);
  world.exchange();
  CHECK(world.peer.answers[stuck].error != NGHTTP2_NO_ERROR);
  busy_handler(world).answer("");
  world.exchange();
  CHECK(world.peer.answers[other].status == "200");
  CHECK(world.counters.untaken_bytes.get() == 0);
}

TEST_CASE("HTTP/2: answers in blocks have 8 MiB of a connection, and others wait for one to end") {
  Http2World world;
  for (int i = 0; i < 3; ++i)
    world.peer.get("/large");
  world.begin();
  std::vector<Handler*> large;
  for (Handler* handler : world.handlers()) {
    if (handler->busy) large.push_back(handler);
  }
  REQUIRE(large.size() == 3);
  CHECK(large[0]->may_begin_large(2 << 20));  // one that is read and one that is sent
  CHECK(large[1]->may_begin_large(2 << 20));
  CHECK_FALSE(large[2]->may_begin_large(2 << 20));
  world.exchange();
  CHECK(large[2]->writable == 0);
  large[0]->begin_large(4);
  static_cast<void>(large[0]->part_of_large("abcd"));
  large[0]->end_large();
  world.exchange();
  CHECK(world.peer.answers[1].body == "abcd");
  CHECK(large[2]->writable == 1);
}

TEST_CASE("HTTP/2: the rest of an answer in blocks waits for the client's window") {
  Http2World world(true);
  const std::int32_t stream = world.peer.get("/large");
  world.begin();
  Handler& handler = world.handler();
  REQUIRE(handler.may_begin_large(256 << 10));
  handler.begin_large(2000);
  CHECK_FALSE(handler.part_of_large(std::string(1000, 'a')));
  world.exchange();
  CHECK(handler.writable == 0);
  // What the client has not taken yet opens its window no further.
  world.peer.open_windows(stream, 999);
  world.client.send(world.peer.output());
  CHECK(world.client.queued().size() >= 999);
  CHECK(handler.writable == 0);
  world.peer.open_windows(stream, 1001);
  world.exchange();
  CHECK(handler.writable == 1);
  SECTION("whole") {
    static_cast<void>(handler.part_of_large(std::string(1000, 'b')));
    handler.end_large();
    world.exchange();
    CHECK(world.peer.answers[stream].body == std::string(1000, 'a') + std::string(1000, 'b'));
    CHECK(world.peer.answers[stream].error == NGHTTP2_NO_ERROR);
  }
  SECTION("cut off") {
    handler.end_large(false);
    world.exchange();
    CHECK(world.peer.answers[stream].error != NGHTTP2_NO_ERROR);
    CHECK_FALSE(world.client.over());
  }
}

TEST_CASE("HTTP/2: a request that is taken back ends what the group is asked, not a fast read") {
  Http2World world;
  const std::int32_t stream = world.peer.get("/");
  world.begin();
  Handler& handler = world.handler();
  handler.group = GENERATE(false, true);
  world.peer.take_back(stream);
  world.exchange();
  CHECK(handler.busy == !handler.group);
  if (handler.busy) handler.answer("for nobody");
  world.exchange();
  CHECK(world.counters.asking_bytes.get() == 0);
  CHECK(world.peer.answers[stream].body.empty());
  CHECK_FALSE(world.client.over());
}

TEST_CASE("HTTP/2: a connection that is gone holds nothing, and waits for nothing") {
  Http2World world;
  world.peer.get("/1");
  world.peer.put("/2");
  world.begin();
  CHECK(world.counters.asking_bytes.get() > 0);
  CHECK(world.counters.arriving_bytes.get() > 0);
  world.client.reset();
  CHECK(world.client.closed);
  CHECK(busy(world) == 0);
  CHECK(world.counters.asking_bytes.get() == 0);
  CHECK(world.counters.arriving_bytes.get() == 0);
  CHECK_FALSE(world.waits());
}

TEST_CASE("HTTP/2: an answer in blocks that waits for others' ends gives way to other clients") {
  Http2World world;
  for (int i = 0; i < 3; ++i)
    world.peer.get("/large");
  world.begin();
  const std::vector<Handler*> large = world.handlers();
  REQUIRE(large.size() == 3);
  CHECK(large[0]->may_begin_large(2 << 20));
  CHECK(large[1]->may_begin_large(2 << 20));
  CHECK_FALSE(large[2]->may_begin_large(2 << 20));
  world.exchange();
  world.wait(seconds(90));  // it is not its client that it waits for
  CHECK_FALSE(world.peer.answers[5].over);
  CHECK(shed({&world.timeouts_of.send}, world.now, [] { return false; }) == 1);
  world.exchange();
  CHECK(world.peer.answers[5].over);
  CHECK_FALSE(large[2]->busy);
  CHECK_FALSE(world.peer.answers[1].over);
  CHECK(world.timeouts() == 1);
}

}  // namespace prophecy::sketcher
