#include "dht/zookeeper/session_world.hpp"

namespace prophecy::zookeeper {

using State = Session::State;
using Kind = Report::Kind;

TEST_CASE("A session begins with a new number, and is asked for again after a loss") {
  World world;
  world.connect();
  CHECK(world.session.session_id() == kSessionId);
  CHECK(world.session.timeout() == milliseconds(3000));
  const Bytes none(kPasswordBytes, 0);
  CHECK(world.sent.at(0) == encode_hello({0, 4000, 0, none}));
  CHECK(world.last() == Kind::session_begun);
  world.call(1, Exists{"/a"});
  world.receive(frames::answer(1, ErrorCode::ok, frames::stat(1), 77));
  world.lose();
  CHECK(world.last() == Kind::disconnected);
  CHECK(world.session.session_id() == kSessionId);
  world.sent.clear();
  world.reach_greeting();
  const Bytes password(kPasswordBytes, 7);
  CHECK(world.sent.at(0) == encode_hello({77, 4000, kSessionId, password}));
  world.receive(frames::welcome(kSessionId, 3000));
  CHECK(world.last() == Kind::connected);
  CHECK(world.session.counters().sessions == 1);
  CHECK(world.session.counters().connections == 2);
}

TEST_CASE("No report shows the session's number or password") {
  World world;
  world.connect();
  world.receive(frames::framed(to_bytes("rubbish")));
  world.reach_greeting();
  world.receive(frames::welcome(kSessionId + 1, 3000));
  for (const Report& report : world.reports) {
    for (const char* secret : {"1122334455667788", "1234605616436508552", "\x07\x07"}) {
      CHECK(report.reason.find(secret) == std::string::npos);
    }
  }
}

TEST_CASE("Pings after a third of the time-out without sending, and a drop after two thirds") {
  World world;
  world.connect(3000);
  const TimePoint start = world.now;
  world.sent.clear();
  world.wait();
  CHECK(world.now == start + seconds(1));
  CHECK(world.sent == std::vector<Bytes>{encode_ping()});
  world.wait_for(milliseconds(500));
  CHECK(world.sent.size() == 1);
  world.receive(frames::answer(kPingXid));
  CHECK(world.last() == Kind::alive);
  // A third after that ping was sent, the next one.
  world.wait();
  CHECK(world.now == start + seconds(2));
  CHECK(world.sent.size() == 2);
  world.wait();
  CHECK(world.now == start + milliseconds(3500));
  CHECK(world.last() == Kind::disconnected);
  CHECK(world.disconnects == 1);
  CHECK(world.session.counters().timeouts == 1);
}

TEST_CASE("Events are no answers: they do not keep a connection") {
  World world;
  world.connect(3000);
  for (int i = 0; i < 5 && world.session.state() == State::connected; ++i) {
    world.receive(frames::event(1, "/a"));
    world.wait_for(milliseconds(500));
  }
  CHECK(world.session.state() == State::disconnected);
  CHECK(world.session.counters().events_ignored == 4);
}

TEST_CASE("Out of reach for four thirds of its time-out, a session is taken for over") {
  World world;
  world.connect(3000);
  const TimePoint start = world.now;
  world.call(1, Create{"/a", {}, true});
  while (world.count(Kind::expired) == 0) {
    world.wait();
    if (world.has_connection) world.lose("refused");
  }
  CHECK(world.now == start + seconds(4));
  CHECK(world.session.session_id() == 0);
  CHECK(world.completions.at(0).outcome == Outcome::unknown);
  world.sent.clear();
  world.reach_greeting();
  const Bytes none(kPasswordBytes, 0);
  CHECK(world.sent.at(0) == encode_hello({0, 4000, 0, none}));
  world.receive(frames::welcome(99, 3000));
  CHECK(world.last() == Kind::session_begun);
}

TEST_CASE("An attempt that has named the session ends with it; one that has not goes on") {
  const bool has_named = GENERATE(false, true);
  SessionSettings settings;
  settings.timeout = seconds(60);
  World world(settings);
  world.connect(600);
  world.lose();
  world.now += milliseconds(790);
  while (!world.has_connection)
    world.wait();
  if (has_named) world.open();
  world.wait();
  CHECK(world.count(Kind::expired) == 1);
  CHECK(world.has_connection != has_named);
  CHECK(world.session.session_id() == 0);
}

TEST_CASE("A process that was stopped finds its session over") {
  World world;
  world.connect(3000);
  world.wait_for(seconds(100));
  CHECK(world.last() == Kind::disconnected);
  world.wait();
  CHECK(world.count(Kind::expired) == 1);
}

TEST_CASE("The server's word that a session is over, in any form, begins a new one") {
  World world;
  world.connect();
  SECTION("no session") {
    world.lose();
    world.reach_greeting();
    world.receive(frames::welcome(0, 0));
  }
  SECTION("no time-out") {
    world.lose();
    world.reach_greeting();
    world.receive(frames::welcome(kSessionId, 0));
  }
  SECTION("another one") {
    world.lose();
    world.reach_greeting();
    world.receive(frames::welcome(kSessionId + 1, 3000));
  }
  SECTION("a call that comes too late") {
    world.call(1, SetData{"/a"});
    world.call(2, SetData{"/a"});
    world.receive(frames::answer(1, ErrorCode::session_expired));
    CHECK(world.completions.at(0).outcome == Outcome::refused);
    CHECK(world.completions.at(1).outcome == Outcome::unknown);
    CHECK(world.count(Kind::disconnected) == 1);
  }
  CHECK(world.last() == Kind::expired);
  CHECK(world.session.state() == State::expired);
  CHECK_FALSE(world.has_connection);
  world.connect();
  CHECK(world.last() == Kind::session_begun);
}

TEST_CASE("Answers are matched in order, and those of a lost connection are unknown") {
  World world;
  world.connect();
  world.call(11, GetData{"/a"});
  world.call(12, SetData{"/a", to_bytes("x"), 3});
  world.call(13, Create{"/b"});
  world.call(14, Delete{"/c"});
  world.receive(frames::answer(1, ErrorCode::ok, frames::data("text", 3)));
  world.receive(frames::answer(2, ErrorCode::bad_version));
  REQUIRE(world.completions.size() == 2);
  CHECK(world.completions[0].number == 11);
  CHECK(world.completions[0].outcome == Outcome::done);
  CHECK(as_text(world.completions[0].answer.data) == "text");
  CHECK(world.completions[1].number == 12);
  CHECK(world.completions[1].outcome == Outcome::refused);
  CHECK(world.completions[1].code == ErrorCode::bad_version);
  const std::size_t reported = world.reports.size();
  world.lose();
  REQUIRE(world.completions.size() == 4);
  CHECK(world.completions[2].outcome == Outcome::unknown);
  CHECK(world.completions[3].outcome == Outcome::unknown);
  CHECK(world.reports.size() == reported + 1);
  world.call(15, GetData{"/a"});
  CHECK(world.completions.back().outcome == Outcome::not_sent);
  CHECK(world.completions.back().message == "there is no connection to ZooKeeper");
}

TEST_CASE("A server's fault leaves the outcome of a write open") {
  World world;
  world.connect();
  std::int32_t xid = 0;
  for (const std::int32_t code : {-1, -4, -7, -122, 5}) {
    world.call(1, SetData{"/a"});
    world.receive(frames::answer(++xid, static_cast<ErrorCode>(code)));
    CHECK(world.completions.back().outcome == Outcome::unknown);
  }
  world.call(1, SetData{"/a"});
  world.receive(frames::answer(++xid, ErrorCode::session_moved));
  CHECK(world.completions.back().outcome == Outcome::unknown);
  CHECK(world.session.state() == State::disconnected);
}

TEST_CASE("The step that has failed is named") {
  World world;
  world.connect();
  world.call(1, Multi{{Check{"/a", 1}, Create{"/b"}, Delete{"/c"}}});
  Bytes body;
  for (const auto code : {ErrorCode::ok, ErrorCode::node_exists, ErrorCode::runtime_inconsistency})
    frames::failed_step(body, code);
  frames::last_step(body);
  world.receive(frames::answer(1, ErrorCode::ok, body));
  REQUIRE(world.completions.size() == 1);
  CHECK(world.completions[0].outcome == Outcome::refused);
  CHECK(world.completions[0].code == ErrorCode::node_exists);
  CHECK(world.completions[0].failed_step == 1);
}

TEST_CASE("Watches fire once, and are set anew on the next connection") {
  World world;
  world.connect();
  world.call(1, GetData{"/data", true});
  world.call(2, Exists{"/absent", true});
  world.call(3, GetChildren{"/parent", true});
  world.call(4, Exists{"/present", true});
  world.call(5, GetData{"/gone", true});
  world.call(6, GetData{"/unwatched"});
  Bytes no_children;
  JuteWriter(no_children).integer(0);
  world.receive(frames::answer(1, ErrorCode::ok, frames::data("", 0), 50));
  world.receive(frames::answer(2, ErrorCode::no_node));
  world.receive(frames::answer(3, ErrorCode::ok, no_children));
  world.receive(frames::answer(4, ErrorCode::ok, frames::stat(0)));
  world.receive(frames::answer(5, ErrorCode::no_node));
  world.receive(frames::answer(6, ErrorCode::ok, frames::data("", 0)));
  CHECK(world.count(Kind::changed) == 0);
  world.receive(frames::event(3, "/present"));
  CHECK(world.reports.back().path == "/present");
  world.receive(frames::event(3, "/present"));
  world.receive(frames::event(3, "/unwatched"));
  world.receive(frames::event(4, "/data"));
  CHECK(world.count(Kind::changed) == 1);
  world.lose();
  world.sent.clear();
  world.connect();
  REQUIRE(world.sent.size() == 2);
  CHECK(world.sent[1] == encode_watches(50, {{"/data"}, {"/absent"}, {"/parent"}}));
  world.receive(frames::answer(kWatchesXid));
  world.receive(frames::event(1, "/absent"));
  world.receive(frames::event(2, "/parent"));
  world.receive(frames::event(2, "/data"));
  CHECK(world.count(Kind::changed) == 4);
  // With none left, none is set.
  world.lose();
  world.sent.clear();
  world.connect();
  CHECK(world.sent.size() == 1);
}

TEST_CASE("Watches that cannot be set anew are told as a change of anything") {
  World world;
  world.connect();
  world.call(1, GetData{"/a", true});
  world.receive(frames::answer(1, ErrorCode::ok, frames::data("", 0)));
  world.lose();
  world.connect();
  world.receive(frames::answer(kWatchesXid, ErrorCode::unimplemented));
  CHECK(world.last() == Kind::changed);
  CHECK(world.reports.back().path.empty());
  CHECK(world.session.state() == State::connected);
}

TEST_CASE("Watches end with their session") {
  World world;
  world.connect();
  world.call(1, GetData{"/a", true});
  world.receive(frames::answer(1, ErrorCode::ok, frames::data("", 0)));
  world.lose();
  world.reach_greeting();
  world.receive(frames::welcome(0, 0));
  world.sent.clear();
  world.connect();
  CHECK(world.sent.size() == 1);
}

TEST_CASE("Identities are shown on each connection, and a rejected one waits for long") {
  SessionSettings settings;
  settings.identities = {{"digest", "a:b"}, {"digest", "c:d"}};
  World world(settings);
  world.connect();
  CHECK(world.sent.at(1) == encode_auth({"digest", "a:b"}));
  CHECK(world.sent.at(2) == encode_auth({"digest", "c:d"}));
  world.call(1, GetData{"/a"});
  world.receive(frames::answer(kAuthXid));
  CHECK(world.session.state() == State::connected);
  world.receive(frames::answer(kAuthXid, ErrorCode::auth_failed));
  CHECK(world.session.state() == State::auth_failed);
  CHECK(world.last() == Kind::rejected);
  CHECK(world.completions.at(0).outcome == Outcome::unknown);
  CHECK_FALSE(world.has_connection);
  // The session ends meanwhile.
  const TimePoint rejected = world.now;
  world.wait();
  CHECK(world.last() == Kind::expired);
  world.wait();
  CHECK(world.now == rejected + settings.pause_max);
  CHECK(world.has_connection);
}

TEST_CASE("A session is closed at the server, behind the calls under way") {
  World world;
  world.connect();
  world.call(1, SetData{"/a"});
  world.session.close(world.now);
  world.take();
  CHECK(world.sent.back() == encode_close(2));
  CHECK(world.session.state() == State::closing);
  world.call(2, SetData{"/a"});
  CHECK(world.completions.back().outcome == Outcome::not_sent);
  SECTION("answered") {
    world.receive(frames::answer(1, ErrorCode::ok, frames::stat(1)));
    CHECK(world.completions.back().outcome == Outcome::done);
    world.receive(frames::answer(2));
  }
  SECTION("cut off") {
    world.lose();
    CHECK(world.completions.back().outcome == Outcome::unknown);
  }
  SECTION("in vain") {
    const TimePoint start = world.now;
    world.wait();
    CHECK(world.now == start + seconds(1));
    CHECK(world.completions.back().outcome == Outcome::unknown);
  }
  CHECK(world.session.state() == State::closed);
  CHECK(world.last() == Kind::closed);
  CHECK(world.session.session_id() == 0);
  CHECK(world.session.next_time() == TimePoint::max());
  CHECK_FALSE(world.has_connection);
}

TEST_CASE("Without a connection a session is closed at once") {
  World world;
  SECTION("waiting") {
    world.session.start(world.now);
    world.take();
    world.lose();
  }
  SECTION("greeting") {
    world.reach_greeting();
  }
  world.session.close(world.now);
  world.take();
  CHECK(world.last() == Kind::closed);
  CHECK_FALSE(world.has_connection);
}

}  // namespace prophecy::zookeeper
