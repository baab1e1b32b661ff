// Several requests on one connection before their answers are there.
#include <algorithm>
#include <memory>

#include "client/pool_world.hpp"

using namespace prophecy;
using namespace prophecy::http;
using namespace prophecy::test;

namespace {

constexpr std::size_t kDepth = 4;

std::string target_of(const std::string& request) {
  std::string target = request.substr(4, request.find(' ', 4) - 4);
  std::erase(target, '?');
  return target;
}

std::deque<Step> after_learning(std::deque<Step> script) {
  script.insert(script.begin(), World::kLearned, answer("quick"));
  return script;
}

// One connection, shared by up to kDepth exchanges, and calls that ask for /0, /1 and so on.
struct Shared : World {
  explicit Shared(std::deque<Step> script, std::size_t calls_count, std::size_t queue_max = 10)
      : World(after_learning(std::move(script)), 1, queue_max, kDepth) {
    learn();
    for (std::size_t i = 0; i < calls_count; ++i)
      calls.push_back(std::make_unique<Call>(pool));
  }
  // On an open connection, so that all of them leave together.
  void start_all() {
    REQUIRE(ask() == "open");
    origin.requests.clear();
    for (std::size_t i = 0; i < calls.size(); ++i)
      calls[i]->start_pipelined("/" + std::to_string(i));
  }
  void run_all() {
    REQUIRE(run_until(io, [&] {
      return std::none_of(calls.begin(), calls.end(),
                          [](const auto& call) { return call->exchange.active(); });
    }));
  }
  std::vector<std::string> targets() const {
    std::vector<std::string> found;
    for (const std::string& request : origin.requests)
      found.push_back(target_of(request));
    return found;
  }
  std::string body(std::size_t number) const {
    const Call& call = *calls[number];
    return call.ends == Ends{ExchangeEnd::answered}
               ? call.bodies.front()
               : (call.ends.empty() ? "no end" : std::string(to_string(call.ends[0])));
  }

  std::vector<std::unique_ptr<Call>> calls;
};

using Targets = std::vector<std::string>;
const Step kOpen = answer("open");

}  // namespace

TEST_CASE("Pipelined exchanges share the last connection and are answered in their order") {
  Shared world({kOpen, answer("a"), answer("b"), answer("c"), answer("d")}, 4);
  world.start_all();
  CHECK(world.pool.waiting() == 0);
  world.run_all();
  CHECK(world.targets() == Targets{"/0", "/1", "/2", "/3"});
  CHECK(world.origin.accepted == 1);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(world.body(i) == std::string(1, static_cast<char>('a' + i)));
  CHECK(world.ask() == "d");
}

TEST_CASE(
    "A connection that was shared is for nobody who could not tell that an answer is another's") {
  // The second answer to come would be the one to /1.
  Shared world({kOpen, Step{answer("a").answer + answer("added").answer, false}, kSilence,
                answer("asked for")},
               2);
  world.start_all();
  world.run_all();
  CHECK(world.body(0) == "a");
  CHECK(world.body(1) == "added");
  CHECK(world.ask() == "asked for");
  CHECK(world.origin.accepted == 2);
}

TEST_CASE("Answers may come in one piece, and cut anywhere") {
  const std::string all = answer("a").answer + answer("b").answer;
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    CAPTURE(cut);
    Shared world({kOpen, {all.substr(0, cut), false}, {all.substr(cut), false}}, 2);
    world.start_all();
    // The origin has both requests before it answers the first, or what is early is malformed.
    world.run_all();
    CHECK(world.body(0) == "a");
    CHECK(world.body(1) == "b");
    CHECK(world.origin.accepted == 1);
  }
}

TEST_CASE("Beyond the depth exchanges wait, and get the place of those that are answered") {
  Shared world({kOpen, answer("x")}, 7, 3);
  world.start_all();
  CHECK(world.pool.waiting() == 3);
  Call beyond(world.pool);
  beyond.start_pipelined("/beyond");
  CHECK(beyond.ends == Ends{ExchangeEnd::overloaded});
  world.run_all();
  CHECK(world.targets() == Targets{"/0", "/1", "/2", "/3", "/4", "/5", "/6"});
  CHECK(world.origin.accepted == 1);
}

TEST_CASE("An exchange that may not be pipelined has the connection to itself") {
  Shared world({kOpen, answer("x")}, 3);
  REQUIRE(world.ask() == "open");
  world.origin.requests.clear();
  world.calls[0]->start_pipelined("/0");
  Call alone(world.pool);
  alone.start();
  CHECK(world.pool.waiting() == 1);
  // Nor does a later one overtake it.
  world.calls[1]->start_pipelined("/1");
  CHECK(world.pool.waiting() == 2);
  CHECK(world.run(alone) == Ends{ExchangeEnd::answered});
  world.run_until_busy(3);
  CHECK(world.targets() == Targets{"/0", "/a", "/1"});
}

TEST_CASE("An answer that says close leaves the others untouched: they go elsewhere") {
  Shared world({kOpen, answer("a", "Connection: close\r\n"), answer("x")}, 4);
  world.start_all();
  world.run_all();
  CHECK(world.body(0) == "a");
  for (std::size_t i = 1; i < 4; ++i)
    CHECK(world.body(i) == "x");
  CHECK(world.origin.accepted == 2);
}

TEST_CASE("When a connection breaks, the first exchange fails and the others are repeated once") {
  struct Case {
    Step wrong;
    ExchangeEnd end;
  };
  const Case wrong = GENERATE(
      as<Case>(),
      Case{Step{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", true}, ExchangeEnd::broken},
      Case{Step{"nonsense\r\n\r\n", true}, ExchangeEnd::malformed},
      Case{Step{"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n", true}, ExchangeEnd::too_large});
  SECTION("and answered") {
    Shared world({kOpen, wrong.wrong, answer("x")}, 3);
    world.start_all();
    world.run_all();
    CHECK(world.calls[0]->ends == Ends{wrong.end});
    CHECK(world.body(1) == "x");
    CHECK(world.body(2) == "x");
  }
  SECTION("and fail themselves") {
    Shared world({kOpen, wrong.wrong}, 3);
    world.start_all();
    world.run_all();
    for (const auto& call : world.calls)
      CHECK(call->ends == Ends{wrong.end});
    CHECK(world.targets().size() == 3);
  }
}

TEST_CASE("A body that ends with the connection is not believed when others waited behind it") {
  Shared world({kOpen, Step{"HTTP/1.1 200 OK\r\n\r\nthe body", true}, answer("x")}, 2);
  world.start_all();
  world.run_all();
  CHECK(world.calls[0]->ends == Ends{ExchangeEnd::broken});
  CHECK(world.body(1) == "x");
}

TEST_CASE("A hang-up before any answer makes all of them stale: each is repeated once") {
  Shared world({kOpen, kHangUp, answer("x")}, 3);
  world.start_all();
  world.run_all();
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(world.body(i) == "x");
}

TEST_CASE("More answers than requests condemn the connection") {
  Shared world(
      {kOpen, answer("a"), {answer("b").answer + answer("planted").answer, false}, answer("x")}, 2);
  world.start_all();
  world.run_all();
  CHECK(world.body(0) == "a");
  CHECK(world.calls[1]->ends == Ends{ExchangeEnd::malformed});
  CHECK(world.pool.connections() == 0);
  CHECK(world.ask() == "x");
}

TEST_CASE("A cancelled exchange's answer is skipped, and the others get theirs") {
  Shared world({kOpen, answer("a"), answer("b"), answer("c")}, 3);
  const std::size_t cancelled = GENERATE(0U, 1U, 2U);
  const bool sent = GENERATE(false, true);
  CAPTURE(cancelled, sent);
  world.start_all();
  if (sent) world.io.poll_one();  // the write at the end of the turn
  world.calls[cancelled]->exchange.cancel();
  world.run_all();
  CHECK(world.calls[cancelled]->ends.empty());
  CHECK(world.origin.accepted == 1);
  std::size_t answered = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    if (!sent && i == cancelled) continue;  // it has never been asked
    const std::string expected(1, static_cast<char>('a' + answered++));
    if (i != cancelled) CHECK(world.body(i) == expected);
  }
}

TEST_CASE("A connection whose exchanges are all cancelled is closed") {
  Shared world({kOpen, kSilence, kSilence, answer("x")}, 2);
  world.start_all();
  world.run_until_busy(2);
  world.calls[0]->exchange.cancel();
  CHECK(world.pool.connections() == 1);
  world.calls[1]->exchange.cancel();
  CHECK(world.pool.connections() == 0);
  CHECK(world.ask() == "x");
}

TEST_CASE("A connection on which only cancelled exchanges are left is closed, answered or not") {
  Shared world({kOpen, answer("a"), kSilence, answer("x")}, 3);
  world.start_all();
  world.run_until_busy(3);
  world.calls[1]->exchange.cancel();
  world.calls[2]->exchange.cancel();
  CHECK(world.run(*world.calls[0]) == Ends{ExchangeEnd::answered});
  CHECK(world.pool.connections() == 0);
  world.pool.stop();
}

TEST_CASE("Two connections are opened before they are shared") {
  World world({answer("x")}, 4, 10, kDepth);
  world.learn();
  std::vector<std::unique_ptr<Call>> calls;
  for (std::size_t i = 0; i < 6; ++i) {
    calls.push_back(std::make_unique<Call>(world.pool));
    calls.back()->start_pipelined("/" + std::to_string(i));
    world.io.poll();  // connected before the next one comes
  }
  for (const auto& call : calls)
    world.run(*call);
  CHECK(world.origin.accepted <= 2);
}

TEST_CASE("An origin that is not known to be quick is asked one at a time") {
  World world({answer("x")}, 4, 10, kDepth);
  std::vector<std::unique_ptr<Call>> calls;
  for (std::size_t i = 0; i < 4; ++i) {
    calls.push_back(std::make_unique<Call>(world.pool));
    calls.back()->start_pipelined("/" + std::to_string(i));
  }
  CHECK(world.pool.connections() == 4);
  for (const auto& call : calls)
    CHECK(world.run(*call) == Ends{ExchangeEnd::answered});
}

TEST_CASE("Those that wait behind a stuck answer end delayed, and the first one goes on waiting") {
  Shared world({kOpen, kSilence}, 3);
  world.start_all();
  REQUIRE(run_until(world.io, [&] { return !world.calls[1]->exchange.active(); }));
  REQUIRE(run_until(world.io, [&] { return !world.calls[2]->exchange.active(); }));
  CHECK(world.calls[0]->ends.empty());
  CHECK(world.calls[1]->ends == Ends{ExchangeEnd::delayed});
  CHECK(world.calls[2]->ends == Ends{ExchangeEnd::delayed});
  CHECK(world.pool.connections() == 1);
  // Its connection carries answers that nobody waits for any more.
  world.calls[0]->exchange.cancel();
  CHECK(world.pool.connections() == 0);
}

TEST_CASE("The answer to one that was delayed is given to nobody") {
  Shared world({kOpen, kSilence, kSilence, kSilence, answer("x")}, 3);
  world.start_all();
  REQUIRE(run_until(world.io, [&] { return !world.calls[2]->exchange.active(); }));
  CHECK(world.calls[1]->ends == Ends{ExchangeEnd::delayed});
  world.calls[1]->ends.clear();
  world.origin.send(0, answer("first").answer + answer("late").answer);
  world.calls[1]->start_pipelined("/again");
  world.run_all();
  CHECK(world.body(0) == "first");
  CHECK(world.body(1) == "x");
  CHECK(world.origin.accepted == 2);
}

TEST_CASE("An origin that closes after so many answers is asked no more on one connection") {
  std::deque<Step> script;
  constexpr std::size_t kAnswers = 6;
  // (The scripted origin answers all connections from one script.)
  for (std::size_t round = 0; round < 4; ++round) {
    for (std::size_t i = 0; i + 1 < kAnswers; ++i)
      script.push_back(answer("x"));
    script.push_back({answer("last", "Connection: close\r\n").answer, true});
  }
  World world(script, 1, 100, kDepth);
  world.learn();
  std::vector<std::unique_ptr<Call>> calls;
  for (std::size_t i = 0; i < 4 * kAnswers - World::kLearned; ++i) {
    calls.push_back(std::make_unique<Call>(world.pool));
    calls.back()->start_pipelined("/" + std::to_string(i));
  }
  for (const auto& call : calls)
    CHECK(world.run(*call) == Ends{ExchangeEnd::answered});
  CHECK(world.origin.accepted == 4 - World::kLearned / kAnswers);
}

TEST_CASE("Nothing is put behind an answer that takes long") {
  World world(after_learning({kSilence, kSilence, answer("x")}), 4, 10, kDepth);
  world.learn();
  Call first(world.pool), second(world.pool), third(world.pool), fourth(world.pool);
  first.start_pipelined("/0");
  second.start_pipelined("/1");
  world.run_until_busy(2);
  run_for(world.io, milliseconds(40));
  third.start_pipelined("/2");
  fourth.start_pipelined("/3");
  CHECK(world.run(third) == Ends{ExchangeEnd::answered});
  CHECK(world.run(fourth) == Ends{ExchangeEnd::answered});
  CHECK(first.ends.empty());
  CHECK(world.origin.accepted > 2);
}

TEST_CASE("A handler may cancel and start pipelined exchanges") {
  Shared world({kOpen, answer("x")}, 3);
  Call more(world.pool);
  world.calls[0]->then = [&] {
    world.calls[1]->exchange.cancel();
    more.start_pipelined("/more");
  };
  world.start_all();
  world.run_all();
  CHECK(world.calls[1]->ends.empty());
  CHECK(world.body(2) == "x");
  CHECK(world.run(more) == Ends{ExchangeEnd::answered});
  CHECK(world.origin.accepted == 1);
}

TEST_CASE("Pipelined exchanges time out together") {
  Shared world({kOpen, kSilence}, 3);
  world.start_all();
  world.run_until_busy(3);
  world.timeouts.answer.expire(much_later());
  for (const auto& call : world.calls)
    CHECK(call->ends == Ends{ExchangeEnd::timed_out});
  CHECK(world.pool.connections() == 0);
}

TEST_CASE("A pool that stops calls no pipelined exchange") {
  Shared world({kOpen, kSilence}, 5);
  world.start_all();
  world.run_until_busy(4);
  world.pool.stop();
  CHECK(world.pool.connections() == 0);
  CHECK(world.pool.waiting() == 0);
  world.settle();
  for (const auto& call : world.calls)
    CHECK(call->ends.empty());
}
