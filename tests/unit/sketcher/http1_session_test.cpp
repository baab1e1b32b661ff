// HTTP/1.x on one connection, in virtual time: what a session does with a client that is slow,
// greedy, or gone.
#include "sketcher/client/http/http1_session.hpp"

#include <catch2/catch.hpp>

#include "session_world.hpp"
#include "sketcher/core/admission/shedding.hpp"

namespace prophecy::sketcher {
namespace {

using session_test::Handler;
using session_test::World;
using Client = session_test::Client<Http1Session>;

constexpr Duration kMoment = milliseconds(1);

std::string get(const std::string& target) {
  return "GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n";
}

std::string put(const std::string& fields) {
  return "PUT / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}

// Of each answer, its status; and its body where that has no line end.
std::string summary(std::string_view answers) {
  std::string text;
  while (!answers.empty()) {
    const std::size_t end = answers.find("\r\n\r\n");
    REQUIRE(end != std::string_view::npos);
    const std::string_view head = answers.substr(0, end);
    if (!text.empty()) text += ' ';
    text += head.substr(9, 3);
    answers.remove_prefix(end + 4);
    const std::size_t length = head.find("content-length: ");
    if (length == std::string_view::npos) continue;
    const auto size =
        static_cast<std::size_t>(std::stoul(std::string(head.substr(length + 16, 12))));
    if (head.find("prophecy-reason") == std::string_view::npos) {
      text += ':';
      text += answers.substr(0, size);
    }
    answers.remove_prefix(std::min(size, answers.size()));
  }
  return text;
}

}  // namespace

TEST_CASE("HTTP/1: a request is handed over with the time, and answered") {
  World world;
  Client client(world);
  client.begin(get("/one"));
  CHECK(world.handler().asked == std::vector<std::string>{"GET /one "});
  CHECK(world.handler().started == std::vector<TimePoint>{world.now});
  CHECK(world.counters.asking_bytes.get() > 0);
  world.handler().answer("one");
  CHECK(summary(client.take_all()) == "200:one");
  CHECK(world.counters.asking_bytes.get() == 0);
  CHECK(client.idles());
  world.advance(seconds(7));
  client.send(get("/two"));
  CHECK(world.handler().started.back() == session_test::kStart + seconds(7));
}

TEST_CASE("HTTP/1: a head has its time as a whole, however it drips") {
  World world;
  Client client(world);
  client.begin("G");
  for (const char c : std::string("ET / HT")) {
    world.advance(seconds(1));
    client.send(std::string(1, c));
  }
  world.advance(seconds(3) - kMoment);
  CHECK_FALSE(client.over());
  world.advance(kMoment);
  CHECK(client.finished);
  CHECK(summary(client.queued()) == "408");
  CHECK(world.timeouts() == 1);
  CHECK(world.counters.arriving_bytes.get() == 0);
  CHECK(world.handler().asked.empty());
}

TEST_CASE("HTTP/1: a connection that waits for its next request is closed without a word") {
  World world;
  Client client(world);
  client.begin(get("/"));
  world.handler().answer("a");
  CHECK(summary(client.take_all()) == "200:a");
  world.advance(seconds(60) - kMoment);
  CHECK_FALSE(client.over());
  world.advance(kMoment);
  CHECK(client.closed);
  CHECK(client.queued().empty());
  CHECK(world.timeouts() == 0);
}

TEST_CASE("HTTP/1: a body has its time for every 4 KiB, and no less") {
  World world;
  Client client(world);
  client.begin(put("Content-Length: 100000\r\n"));
  SECTION("each 4 KiB begins it anew") {
    for (int i = 0; i < 5; ++i) {
      world.advance(seconds(19));
      client.send(std::string(LeastProgress::kBytes, 'x'));
      CHECK_FALSE(client.over());
    }
    world.advance(seconds(20));
    CHECK(summary(client.queued()) == "408");
    CHECK(client.finished);
  }
  SECTION("a byte now and then does not") {
    for (int i = 0; i < 19; ++i) {
      world.advance(seconds(1));
      client.send("x");
    }
    CHECK_FALSE(client.over());
    world.advance(seconds(1));
    CHECK(summary(client.queued()) == "408");
    CHECK(client.finished);
  }
  CHECK(world.timeouts() == 1);
  CHECK(world.counters.arriving_bytes.get() == 0);
}

TEST_CASE("HTTP/1: all of a body has an end to its time, though it comes steadily") {
  World world;
  Client client(world);
  client.begin(put("Content-Length: 4000000\r\n"));
  int pieces = 0;
  for (; !client.over() && pieces < 100; ++pieces) {
    world.advance(seconds(10));
    client.send(std::string(LeastProgress::kBytes, 'x'));
  }
  CHECK(world.now - session_test::kStart == seconds(110));  // the first look past 100 s
  CHECK(summary(client.queued()) == "408");
}

TEST_CASE("HTTP/1: whose answer is awaited has no time-out, and is looked for if it breaks") {
  World world;
  Client client(world);
  client.begin(get("/"));
  CHECK_FALSE(client.waits());
  SECTION("a fast read goes on for nobody, until the group would be asked") {
    client.reset();
    CHECK_FALSE(client.over());
    world.advance(milliseconds(200));
    CHECK_FALSE(client.over());
    world.handler().group = true;
    world.advance(milliseconds(200));
    CHECK(client.closed);
    CHECK_FALSE(world.handler().busy);
  }
  SECTION("what the group is asked is given up at once") {
    world.handler().group = true;
    client.reset();
    CHECK(client.closed);
  }
}

TEST_CASE("HTTP/1: a client that has ended its sending gets its answers") {
  World world;
  Client client(world);
  client.begin(get("/one") + get("/two"));
  client.end_sending();
  CHECK_FALSE(client.over());
  world.handler().answer("1");
  CHECK_FALSE(client.over());
  world.handler().answer("2");
  CHECK(summary(client.queued()) == "200:1 200:2");
  CHECK(client.closed);
}

TEST_CASE("HTTP/1: an end in the midst of a request is the end") {
  World world;
  Client client(world);
  client.begin("GET / HT");
  client.end_sending();
  CHECK(client.closed);
  CHECK(client.queued().empty());
}

TEST_CASE("HTTP/1: pipelined requests are answered one after another, in their order") {
  World world;
  Client client(world);
  client.begin(get("/1") + get("/2") + put("Content-Length: 3\r\n") + "abc" + get("/4"));
  Handler& handler = world.handler();
  CHECK(handler.asked == std::vector<std::string>{"GET /1 "});
  CHECK(world.counters.arriving_bytes.get() > 0);  // of those that wait
  // Nothing is read beyond that while an answer is awaited.
  client.send(get("/5"));
  CHECK(client.unread() == get("/5"));
  for (const char* body : {"a", "b", "c", "d", "e"})
    handler.answer(body);
  CHECK(handler.asked ==
        std::vector<std::string>{"GET /1 ", "GET /2 ", "PUT / abc", "GET /4 ", "GET /5 "});
  CHECK(summary(client.take_all()) == "200:a 200:b 200:c 200:d 200:e");
  CHECK(world.counters.arriving_bytes.get() == 0);
  CHECK(client.idles());
}

TEST_CASE("HTTP/1: of requests that are answered at once, a turn has 32") {
  World world;
  Client client(world);
  client.begin(get("/first"));
  world.handler().answers_at_once = true;
  std::string many;
  for (int i = 0; i < 3 * Http1Session::kRequestsOfTurn; ++i)
    many += get("/" + std::to_string(i));
  client.send(many);
  CHECK(world.handler().asked.size() == 1);
  world.handler().answer("first");
  std::size_t asked = 1;
  for (int turns = 0; turns < 3; ++turns) {
    asked += Http1Session::kRequestsOfTurn;
    CHECK(world.handler().asked.size() == asked);
    CHECK(client.idles() == (turns == 2));  // before that, the next one is here already
    CHECK(client.turn());
  }
  CHECK(world.handler().asked.size() == asked);
  CHECK_FALSE(client.turn());
  CHECK(client.idles());
}

TEST_CASE("HTTP/1: a client that floods its body lets others have their turn") {
  World world;
  Client client(world);
  client.begin(put("Content-Length: 3000000\r\n"));
  client.send(std::string(3'000'000, 'x'));
  CHECK(world.handler().asked.empty());
  CHECK(client.unread().size() == 3'000'000 - kReadsOfTurn * kReadBytes);
  int turns = 0;
  while (client.turn())
    ++turns;
  CHECK(turns == 2);
  CHECK(world.handler().asked.size() == 1);
}

TEST_CASE("HTTP/1: an answer that the socket does not take is held, and sent as it does") {
  World world;
  Client client(world, 100'000);
  client.begin(get("/"));
  // Small ones are copied, large ones swapped out of the handler's storage.
  const std::size_t size = GENERATE(110'000U, 1'000'000U);
  const std::string body(size, 'x');
  world.handler().answer(body);
  CHECK(client.queued().size() == 100'000);
  CHECK(world.counters.untaken_bytes.get() >= size - 100'000);
  client.send(get("/next"));  // is not read
  CHECK(world.handler().asked.size() == 1);
  const std::string taken = client.take_all();
  CHECK(summary(taken) == "200:" + body);
  CHECK(world.counters.untaken_bytes.get() == 0);
  CHECK(world.handler().asked.size() == 2);
}

TEST_CASE("HTTP/1: a client has its time for every 4 KiB of an answer") {
  World world;
  Client client(world, 100'000);
  client.begin(get("/"));
  world.handler().answer(std::string(1'000'000, 'x'));
  SECTION("one that takes nothing is cut off") {
    world.advance(seconds(30) - kMoment);
    CHECK_FALSE(client.over());
    world.advance(kMoment);
    CHECK(client.closed);
    CHECK(world.timeouts() == 1);
    CHECK(world.counters.untaken_bytes.get() == 0);
  }
  SECTION("so is one that takes a byte now and then") {
    for (int i = 0; i < 29; ++i) {
      world.advance(seconds(1));
      CHECK(client.take(1).size() == 1);
    }
    CHECK_FALSE(client.over());
    world.advance(seconds(1));
    // The kernel holds as much as when it was asked last.
    CHECK(client.closed);
    CHECK(world.timeouts() == 1);
  }
  SECTION("one that takes 4 KiB each time is waited for") {
    for (int i = 0; i < 20; ++i) {
      world.advance(seconds(29));
      client.take(LeastProgress::kBytes);
      CHECK_FALSE(client.over());
    }
    CHECK(world.timeouts() == 0);
  }
  SECTION("one that takes what the kernel holds, which says nothing of that, as well") {
    for (int i = 0; i < 5; ++i) {
      world.advance(seconds(29));
      client.take(LeastProgress::kBytes, true);
    }
    CHECK_FALSE(client.over());
    world.advance(seconds(60));
    CHECK(client.closed);
  }
}

TEST_CASE("HTTP/1: the rest of a large answer waits for the client") {
  World world;
  Client client(world, 100'000);
  client.begin(get("/large"));
  Handler& handler = world.handler();
  handler.begin_large(300'000);
  CHECK(world.counters.asking_bytes.get() == 0);
  CHECK(handler.part_of_large(std::string(50'000, 'a')));
  CHECK_FALSE(handler.part_of_large(std::string(150'000, 'b')));
  CHECK(handler.writable == 0);
  CHECK(world.counters.untaken_bytes.get() > 0);
  std::string taken = client.take(60'000);
  CHECK(handler.writable == 0);
  taken += client.take(60'000);
  CHECK(handler.writable == 1);
  CHECK(world.counters.untaken_bytes.get() == 0);
  CHECK_FALSE(client.waits());  // it is an origin that is waited for
  SECTION("whole") {
    static_cast<void>(handler.part_of_large(std::string(100'000, 'c')));
    handler.end_large();
    taken += client.take_all();
    CHECK(summary(taken) == "200:" + std::string(50'000, 'a') + std::string(150'000, 'b') +
                                std::string(100'000, 'c'));
    CHECK(client.idles());
  }
  SECTION("cut off") {
    handler.end_large(false);
    CHECK(client.closed);
  }
  SECTION("the client takes no more") {
    CHECK_FALSE(handler.part_of_large(std::string(100'000, 'c')));
    world.advance(seconds(30));
    CHECK(client.closed);
    CHECK(world.timeouts() == 1);
    CHECK_FALSE(handler.busy);
  }
  SECTION("the client is gone") {
    client.reset();
    CHECK(client.closed);
    CHECK_FALSE(handler.busy);
  }
}

TEST_CASE("HTTP/1: when all clients leave too much untaken, those that hold most are shed") {
  World world;
  std::vector<std::unique_ptr<Client>> clients;
  const std::size_t megabytes[] = {1, 3, 2, 4};
  for (const std::size_t size : megabytes) {
    clients.push_back(std::make_unique<Client>(world, 10'000));
    clients.back()->begin(get("/"));
    world.handler().answer(std::string(size << 20, 'x'));
  }
  CHECK(world.too_much_untaken);
  world.advance(seconds(2));
  world.untaken.rearm();
  CHECK(shed({&world.timeouts_of.send}, world.now, [&] { return world.untaken.has_spare(); }) == 1);
  CHECK(clients[3]->closed);
  CHECK_FALSE(clients[1]->over());
  CHECK(world.timeouts() == 1);
  CHECK(world.untaken.has_spare());
}

TEST_CASE("HTTP/1: the form of a head counts while its body comes") {
  World world;
  Client client(world);
  client.begin(put("Content-Length: 10\r\n"));
  CHECK(world.counters.arriving_bytes.get() >= Handler::kFormBytes);
  client.send("0123456789");
  CHECK(world.counters.arriving_bytes.get() == 0);
}

TEST_CASE("HTTP/1: a request that has to make room for others is answered 408") {
  World world;
  Client client(world);
  client.begin(put("Content-Length: 500000\r\n") + std::string(100'000, 'x'));
  const std::uint64_t held = world.counters.arriving_bytes.get();
  CHECK(held >= 100'000);
  CHECK(shed({&world.timeouts_of.body}, world.now, [] { return false; }) == 1);
  CHECK(summary(client.queued()) == "408");
  CHECK(world.counters.arriving_bytes.get() == 0);
}

TEST_CASE("HTTP/1: pipelined requests wait for others while there is room for that") {
  World world;
  HeldBytes::Share others(world.arriving);
  others.set(600 << 10);  // more than half
  Client client(world);
  client.begin(get("/1") + get("/2"));
  CHECK(world.refused() == 1);
  world.handler().answer("a");
  CHECK(client.finished);
  CHECK(summary(client.queued()) == "200:a");
}

TEST_CASE("HTTP/1: drained") {
  World world;
  Client client(world);
  client.begin(get("/1"));
  SECTION("at once, between two requests") {
    world.handler().answer("a");
    client.drain();
    CHECK(client.finished);
  }
  SECTION("with a request under way, after its answer; no other is taken") {
    client.send(get("/2"));
    client.drain();
    CHECK_FALSE(client.over());
    world.handler().answer("a");
    CHECK(client.finished);
    const std::string answers = client.take_all();
    CHECK(summary(answers) == "200:a");
    CHECK(answers.find("connection: close") != std::string::npos);
    CHECK(world.handler().asked.size() == 1);
  }
  SECTION("with a request that is not whole, after its answer") {
    world.handler().answer("a");
    client.send("GET /2 HTTP/1.1\r\n");
    client.drain();
    CHECK_FALSE(client.over());
    client.send("Host: a\r\n\r\n");
    world.handler().answer("b");
    CHECK(client.finished);
    CHECK(summary(client.take_all()) == "200:a 200:b");
  }
  SECTION("with an answer that is not taken, once it is") {
    world.handler().answer(std::string(2 << 20, 'x'));
    client.drain();
    CHECK_FALSE(client.over());
    CHECK(client.take_all().size() > 2 << 20);
    CHECK(client.finished);
  }
}

TEST_CASE("HTTP/1: a client that asks before it sends its body is told to go on") {
  World world;
  Client client(world, 1000);
  client.begin(get("/"));
  Handler& handler = world.handler();
  SECTION("at once") {
    handler.answer("a");
    client.take_all();
    client.send(put("Expect: 100-continue\r\nContent-Length: 3\r\n"));
    CHECK(client.take(1000) == "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("abc");
    CHECK(handler.asked.back() == "PUT / abc");
  }
  SECTION("as soon as the socket takes it") {
    handler.answer(std::string(500, 'x'));
    client.socket_bytes = client.queued().size() + 5;
    client.send(put("Expect: 100-continue\r\nContent-Length: 3\r\n"));
    const std::string answers = client.take(500) + client.take_all();
    CHECK(summary(answers) == "200:" + std::string(500, 'x') + " 100");
  }
  SECTION("unless its head is reason enough to refuse it") {
    handler.answer("a");
    client.take_all();
    handler.refusal = sketch::Refusal{405, "writes-refused"};
    client.send(put("Expect: 100-continue\r\nContent-Length: 3\r\n"));
    CHECK(summary(client.queued()) == "405");
    CHECK(client.finished);
  }
  SECTION("and one that does not ask is refused when its body is whole") {
    handler.answer("a");
    client.take_all();
    handler.refusal = sketch::Refusal{405, "writes-refused"};
    client.send(put("Content-Length: 500000\r\n"));
    client.send(std::string(499'999, 'x'));
    CHECK(client.queued().empty());
    CHECK(world.counters.arriving_bytes.get() < 2 * kReadBytes);  // no more than one piece
    client.send("x");
    CHECK(summary(client.queued()) == "405");
    CHECK(client.finished);
  }
}

TEST_CASE("HTTP/1: bad requests end the connection behind the answers before them") {
  World world;
  Client client(world);
  client.begin(get("/1") + "no request\r\n\r\n" + get("/3"));
  world.handler().answer("a");
  CHECK(client.finished);
  CHECK(summary(client.queued()).starts_with("200:a "));
  CHECK(world.handler().asked.size() == 1);
  CHECK(world.refused() == 1);
}

TEST_CASE("HTTP/1: an error of the client's ends the connection, one of the origins' does not") {
  World world;
  Client client(world);
  client.begin(get("/1"));
  world.handler().fail(503);
  CHECK(summary(client.take_all()) == "503");
  CHECK_FALSE(client.over());
  client.send(get("/2"));
  world.handler().fail(421);
  CHECK(summary(client.take_all()) == "421");
  CHECK(client.finished);
}

TEST_CASE("HTTP/1: a tunnel gets what was read behind its request") {
  World world;
  Client client(world);
  client.begin(get("/1") + get("/tunnel") + "first bytes");
  world.handler().tunnels = true;
  world.handler().answer("a");
  REQUIRE(client.tunnel.has_value());
  CHECK(client.tunnel->upgrade == "echo");
  CHECK(client.tunnelled == "first bytes");
  CHECK(summary(client.queued()) == "200:a");
}

TEST_CASE("HTTP/1: only a connection of which no request has begun is idle") {
  World world;
  Client client(world);
  client.begin("\r\n");
  CHECK(client.idles());
  client.send("G");
  CHECK_FALSE(client.idles());
  client.send("ET / HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK_FALSE(client.idles());
  world.handler().answer(std::string(2 << 20, 'x'));
  CHECK_FALSE(client.idles());
  client.take_all();
  CHECK(client.idles());
}

}  // namespace prophecy::sketcher
