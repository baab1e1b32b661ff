// A session against servers that lie, and owners that ask too much.
#include <set>

#include "dht/zookeeper/session_world.hpp"

namespace prophecy::zookeeper {

using State = Session::State;
using Kind = Report::Kind;

TEST_CASE("A frame that breaks the protocol is one clear error, and ends the connection") {
  World world;
  world.connect();
  world.call(1, GetData{"/a"});
  SECTION("no length") {
    world.receive(to_bytes("HTTP/1.1 400 Bad Request\r\n"));
  }
  SECTION("too short") {
    world.receive(frames::framed(Bytes(15)));
  }
  SECTION("an answer to nothing") {
    world.receive(frames::answer(2));
  }
  SECTION("a ping's answer to nothing") {
    world.receive(frames::answer(kPingXid));
  }
  SECTION("an identity's answer to nothing") {
    world.receive(frames::answer(kAuthXid));
  }
  SECTION("the watches' answer to nothing") {
    world.receive(frames::answer(kWatchesXid));
  }
  SECTION("a number of no kind") {
    world.receive(frames::answer(-77));
  }
  SECTION("no body") {
    world.receive(frames::answer(1));
  }
  SECTION("an event without a path") {
    world.receive(frames::answer(kEventXid, ErrorCode::ok, Bytes(8)));
  }
  CHECK(world.session.state() == State::disconnected);
  CHECK_FALSE(world.has_connection);
  CHECK(world.last() == Kind::disconnected);
  CHECK(world.reports.back().reason.starts_with("ZooKeeper server: "));
  CHECK(world.session.counters().malformed == 1);
  REQUIRE(world.completions.size() == 1);
  CHECK(world.completions[0].outcome == Outcome::unknown);
}

TEST_CASE("Behind an error nothing of the same bytes is looked at") {
  World world;
  world.connect();
  Bytes bytes = frames::answer(-77);
  for (int i = 0; i < 3; ++i) {
    const Bytes more = frames::event(1, "/a");
    bytes.insert(bytes.end(), more.begin(), more.end());
  }
  world.receive(bytes);
  CHECK(world.session.counters().events == 0);
  // Nor is half a frame kept for the next connection.
  world.connect();
  world.receive({0, 0});
  world.lose();
  world.connect();
  CHECK(world.session.state() == State::connected);
}

TEST_CASE("A welcome that grants nothing sensible is rejected") {
  World world;
  world.reach_greeting();
  SECTION("no session") {
    world.receive(frames::welcome(0, 0));
  }
  SECTION("too short") {
    world.receive(frames::welcome(1, 1));
  }
  SECTION("too long") {
    world.receive(frames::welcome(1, 0x7fffffff));
  }
  SECTION("rubbish") {
    world.receive(frames::framed(Bytes(100)));
  }
  SECTION("an answer") {
    world.receive(frames::answer(1));
  }
  CHECK(world.last() == Kind::attempt_failed);
  CHECK(world.session.state() == State::disconnected);
  CHECK(world.session.session_id() == 0);
}

TEST_CASE("The shortest and the longest session are accepted") {
  World world;
  world.connect(GENERATE(200, 600'000));
  CHECK(world.last() == Kind::session_begun);
}

TEST_CASE("Servers take turns, and pauses double up to their bound") {
  SessionSettings settings;
  settings.servers = 3;
  settings.timeout = seconds(600);
  World world(settings);
  world.session.start(world.now);
  world.take();
  std::vector<Duration> pauses;
  for (int i = 0; i < 9; ++i) {
    REQUIRE(world.has_connection);
    world.lose("refused");
    const TimePoint before = world.now;
    world.wait();
    pauses.push_back(world.now - before);
  }
  const std::vector<std::size_t>& tried = world.connects;
  CHECK(std::set<std::size_t>(tried.begin(), tried.begin() + 3) == std::set<std::size_t>{0, 1, 2});
  for (std::size_t i = 3; i < tried.size(); ++i)
    CHECK(tried[i] == tried[i - 3]);
  // Half of each is drawn: nothing, here.
  const std::vector<Duration> expected{milliseconds(50),   milliseconds(100),  milliseconds(200),
                                       milliseconds(400),  milliseconds(800),  milliseconds(1600),
                                       milliseconds(2500), milliseconds(2500), milliseconds(2500)};
  CHECK(pauses == expected);
}

TEST_CASE("Drawn pauses lie between a half and the whole") {
  ServerTurns turns(1, milliseconds(100), milliseconds(100), [](std::uint32_t bound) {
    CHECK(bound == 51);
    return bound - 1;
  });
  CHECK(turns.fail() == milliseconds(100));
}

TEST_CASE("A server that accepts and hangs up at once does not shorten the pauses") {
  World world;
  TimePoint before{};
  for (int i = 0; i < 8; ++i) {
    world.connect();
    before = world.now;
    world.lose();
  }
  while (!world.has_connection)
    world.wait();
  CHECK(world.now - before >= seconds(2));
  world.open();
  world.receive(frames::welcome(world.session.session_id() == 0 ? 5 : kSessionId, 3000));
  REQUIRE(world.session.state() == State::connected);
  world.wait();
  world.receive(frames::answer(kPingXid));
  before = world.now;
  world.lose();
  world.wait();
  CHECK(world.now - before <= milliseconds(100));
}

TEST_CASE("An attempt has its share of the time-out") {
  const auto [servers, timeout, share] =
      GENERATE(Catch::Generators::table<std::size_t, milliseconds, milliseconds>({
          {5, milliseconds(6000), milliseconds(1200)},
          {3, milliseconds(6000), milliseconds(2000)},
          {2, milliseconds(6000), milliseconds(2000)},  // a third at most
          {1, milliseconds(6000), milliseconds(2000)},
          {1, milliseconds(900), milliseconds(500)},
      }));
  SessionSettings settings;
  settings.servers = servers;
  settings.timeout = timeout;
  World world(settings);
  world.session.start(world.now);
  world.take();
  const TimePoint start = world.now;
  world.wait();
  CHECK(world.now == start + share);
  CHECK(world.last() == Kind::attempt_failed);
  world.reach_greeting();
  world.wait();
  CHECK(world.disconnects == 2);
}

TEST_CASE("A session outlives an attempt that its only server leaves unanswered") {
  World world;
  world.connect();
  const std::int64_t session = world.session.session_id();
  while (world.has_connection)
    world.wait();  // it is silent, and is left
  while (!world.has_connection)
    world.wait();
  world.open();  // it starts, and says nothing
  while (world.has_connection)
    world.wait();
  CHECK(world.last() == Kind::attempt_failed);
  CHECK(world.session.session_id() == session);
  while (!world.has_connection)
    world.wait();
  world.open();
  world.receive(frames::welcome(session, 3000));
  CHECK(world.last() == Kind::connected);
}

TEST_CASE("Calls are bounded in number, bytes and watches") {
  World world;
  world.connect();
  SECTION("number") {
    for (std::size_t i = 0; i <= kOutstandingMax; ++i)
      world.call(i, GetData{"/a"});
    REQUIRE(world.completions.size() == 1);
    CHECK(world.completions[0].number == kOutstandingMax);
    CHECK(world.completions[0].message == "too many calls under way");
    world.receive(frames::answer(1, ErrorCode::no_node));
    world.call(7, GetData{"/a"});
    CHECK(world.completions.size() == 2);
  }
  SECTION("bytes") {
    std::size_t sent = 0;
    for (std::uint64_t i = 0; world.completions.empty(); ++i) {
      world.call(i, SetData{"/a", Bytes(1U << 19)});
      if (world.completions.empty()) sent += 1U << 19;
    }
    CHECK(sent < kOutstandingBytesMax);
    CHECK(sent > kOutstandingBytesMax - (1U << 20));
  }
  SECTION("one request") {
    world.call(1, SetData{"/a", Bytes(kRequestBytesMax)});
    REQUIRE(world.completions.size() == 1);
    CHECK(world.completions[0].message == "too large for a node");
  }
  SECTION("watches") {
    std::int32_t xid = 0;
    for (std::size_t i = 0; i < kWatchesMax; ++i) {
      world.call(i, Exists{"/" + std::to_string(i), true});
      if (i % 2 == 0) continue;
      world.receive(frames::answer(++xid, ErrorCode::no_node));
      world.receive(frames::answer(++xid, ErrorCode::no_node));
    }
    const std::size_t before = world.completions.size();
    world.call(1, Exists{"/more", true});
    REQUIRE(world.completions.size() == before + 1);
    CHECK(world.completions.back().message == "too many watches");
    world.call(1, Exists{"/more"});
    CHECK(world.completions.size() == before + 1);
  }
  SECTION("what is no request") {
    world.call(1, GetData{"a"});
    world.call(2, Multi{});
    world.call(3, Multi{std::vector<Step>(kStepsMax + 1, Check{"/a", 1})});
    world.call(4, Multi{{Check{"", 1}}});
    REQUIRE(world.completions.size() == 4);
    for (const Completion& completion : world.completions)
      CHECK(completion.outcome == Outcome::not_sent);
  }
}

TEST_CASE("Settings out of bounds are named") {
  const auto wrong = [](auto change) {
    SessionSettings settings;
    change(settings);
    return !check(settings);
  };
  CHECK(check(SessionSettings{}).has_value());
  CHECK(wrong([](auto& settings) { settings.servers = 0; }));
  CHECK(wrong([](auto& settings) { settings.servers = kServersMax + 1; }));
  CHECK(wrong([](auto& settings) { settings.timeout = milliseconds(1); }));
  CHECK(wrong([](auto& settings) { settings.timeout = std::chrono::hours(1); }));
  CHECK(wrong([](auto& settings) { settings.pause_min = seconds(6); }));
  CHECK(wrong([](auto& settings) { settings.pause_min = milliseconds(0); }));
  CHECK(wrong([](auto& settings) { settings.identities = {{"", "x"}}; }));
  CHECK(wrong([](auto& settings) { settings.identities = {{"digest", std::string(2000, 'x')}}; }));
  CHECK(wrong([](auto& settings) { settings.access.clear(); }));
  CHECK(wrong([](auto& settings) { settings.access[0].permissions = 32; }));
}

}  // namespace prophecy::zookeeper
