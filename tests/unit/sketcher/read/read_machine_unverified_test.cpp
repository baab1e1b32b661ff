// Reads whose answers nobody verifies: routes that are off or observed, and whitelisted requests.
#include "read_world.hpp"

namespace prophecy::sketcher {

using namespace read_test;
using State = ReadMachine::State;

namespace {

struct OffWorld : ReadWorld {
  void start(const std::string& method = "GET") {
    reader.request.mode = RouteMode::off;
    reader.start(method);
    REQUIRE(reader.took() == Lines{"deadline", "ask 0"});
  }
  Reader reader{*this};
};

}  // namespace

TEST_CASE("off: the drawn origin's answer is the client's") {
  OffWorld world;
  world.start();
  const replica_client::FastForm asked = world.reader.machine.asked();
  CHECK_FALSE((asked.is_verified || asked.is_head));
  CHECK(asked.piece_bytes == BodyRelay::kPieceBytes);
  CHECK(asked.whole_bytes == world.worker.answer_bytes_max);
  world.reader.answer("anything", 404);
  CHECK(world.reader.took() == Lines{"no deadline", "deliver 404 anything, an origin's"});
  CHECK_FALSE(world.reader.machine.answer_sketch().has_value());
  CHECK(world.counters.answered_unverified.get() == 1);
  CHECK(world.ended(0, ExchangeEnd::answered) == 1);
  CHECK(world.calls.empty());
}

TEST_CASE("off: a HEAD's answer comes as a whole, and OPTIONS is asked of one origin") {
  OffWorld world;
  SECTION("HEAD") {
    world.start("HEAD");
    CHECK(world.reader.machine.asked().is_head);
    CHECK(world.reader.machine.asked().piece_bytes == 0);
  }
  SECTION("OPTIONS") {
    world.reader.request.is_options = true;
    world.start("OPTIONS");
    CHECK(world.counters.reads.get() == 1);
  }
  world.reader.answer("");
  CHECK(world.reader.took() == Lines{"no deadline", "deliver 200 , an origin's"});
}

TEST_CASE("off: an origin that fails is replaced once, then the failure is the client's") {
  OffWorld world;
  const auto [end, refusal] = GENERATE(Catch::Generators::table<ExchangeEnd, std::string>(
      {{ExchangeEnd::timed_out, "504 origin-too-slow"},
       {ExchangeEnd::shed, "503 overloaded"},
       {ExchangeEnd::not_sent, "503 origin-unavailable"},
       {ExchangeEnd::overloaded, "503 origin-unavailable"},
       {ExchangeEnd::expired, "503 origin-unavailable"},
       {ExchangeEnd::broken, "502 origin-answer-unusable"},
       {ExchangeEnd::malformed, "502 origin-answer-unusable"}}));
  world.start();
  world.reader.fail(end);
  CHECK(world.reader.took() == Lines{"ask 1"});
  world.reader.fail(end);
  CHECK(world.reader.took() == Lines{"no deadline", "refuse " + refusal});
  CHECK(world.counters.failed.get() == 1);
}

TEST_CASE("off: an answer that is too large is refused at once") {
  OffWorld world;
  world.start();
  world.reader.fail(ExchangeEnd::too_large);
  CHECK(world.reader.took() == Lines{"no deadline", "refuse 502 answer-too-large"});
}

TEST_CASE("off: an answer without a canonical form is its origin's failure") {
  OffWorld world;
  world.start();
  const auto unusable = [] {
    http::Response response = response_of("A");
    response.fields.add("connection", "set-cookie");
    return response;
  };
  world.reader.answer(0, unusable());
  CHECK(world.reader.took() == Lines{"ask 1"});
  CHECK(world.ended(0, ExchangeEnd::malformed) == 1);
  world.reader.answer(0, unusable());
  CHECK(world.reader.took() == Lines{"no deadline", "refuse 502 origin-answer-unusable"});
}

TEST_CASE("off: a body in pieces goes to its client as it comes") {
  OffWorld world;
  world.start();
  http::Response response = response_of("first ");
  response.fields.add("content-length", "12");
  world.reader.progress(response);
  CHECK(world.reader.took() == Lines{fmt::format("ask the client for {}", BodyRelay::kPieceBytes),
                                     "no deadline", "begin", "extend", "send 6"});
  CHECK(world.reader.machine.state() == State::relaying);
  CHECK(world.counters.answered_unverified.get() == 1);
  CHECK(world.large.begun.get() == 1);
  SECTION("to its end") {
    response.body = "second";
    world.reader.answer(0, std::move(response));
    CHECK(world.reader.took() == Lines{"send 6", "end"});
    CHECK((world.reader.body == "first second"));
    CHECK(world.large.completed.get() == 1);
  }
  SECTION("cut off, as its origin is: nobody else knows the rest") {
    world.reader.fail(ExchangeEnd::broken);
    CHECK(world.reader.took() == Lines{"cut off"});
    CHECK(world.large.broken.get() == 1);
    CHECK(world.ended(0, ExchangeEnd::broken) == 1);
  }
  SECTION("the client leaves: it is counted already") {
    world.reader.leave();
    CHECK(world.reader.took() == Lines{"cancel 0"});
    CHECK(world.counters.abandoned.get() == 0);
  }
}

TEST_CASE("off: a body in pieces needs a length, and a form") {
  OffWorld world;
  world.start();
  http::Response response = response_of("first ");
  SECTION("none") {}
  SECTION("no number") {
    response.fields.add("content-length", "twelve");
  }
  SECTION("no form") {
    response.fields.add("content-length", "12");
    response.fields.add("connection", "set-cookie");
  }
  http::Response second = response;
  world.reader.progress(response);
  CHECK(world.reader.took() == Lines{"cancel 0", "ask 1"});
  CHECK(world.ended(0, ExchangeEnd::malformed) == 1);
  world.reader.progress(second);
  CHECK(world.reader.took() ==
        Lines{"cancel 1", "no deadline", "refuse 502 origin-answer-unusable"});
}

TEST_CASE("off: of a body in pieces a client may want a part, nothing, or have left") {
  OffWorld world;
  world.start();
  http::Response response = response_of("0123456");
  response.fields.add("content-length", "12");
  const std::string asked = fmt::format("ask the client for {}", BodyRelay::kPieceBytes);
  SECTION("a part") {
    world.reader.client = {.first = 3, .size = 2};
    world.reader.progress(response);
    CHECK(world.reader.took() ==
          Lines{asked, "no deadline", "begin", "extend", "send 2", "cancel 0", "end"});
    CHECK((world.reader.body == "34"));
  }
  SECTION("nothing") {
    world.reader.wants_nothing = true;
    world.reader.progress(response);
    CHECK(world.reader.took() == Lines{asked, "no deadline", "cancel 0", "begin", "end"});
    CHECK(world.large.completed.get() == 1);
  }
  SECTION("it has left") {
    world.reader.client.has_left = true;
    world.reader.progress(response);
    CHECK(world.reader.took() == Lines{asked, "cancel 0", "no deadline", "refuse 503 client-left"});
    CHECK(world.counters.abandoned.get() == 1);
    CHECK(world.counters.answered_unverified.get() == 0);
  }
}

TEST_CASE("observe: the client gets the origin's answer, and the group judges it") {
  ReadWorld world;
  Reader reader(world);
  reader.request.mode = RouteMode::observe;
  const bool is_known = GENERATE(true, false);
  if (is_known) world.remember(reader.key(), world.sketch("A"));
  reader.start();
  CHECK_FALSE(reader.machine.asked().is_verified);
  reader.answer("X");
  CHECK(reader.took() == Lines{"deadline", "ask 0", "no deadline", "deliver 200 X, an origin's"});
  CHECK(world.counters.answered_unverified.get() == 1);
  REQUIRE(world.calls.size() == 1);
  world.answer(1, "A", 10);
  CHECK(world.accused.size() == (is_known ? 1 : 0));
  CHECK(world.table.lookup(reader.key())->answer == world.sketch("A"));
}

TEST_CASE("observe: an answer that the history holds is verified") {
  ReadWorld world;
  Reader reader(world);
  reader.request.mode = RouteMode::observe;
  world.remember(reader.key(), world.sketch("A"));
  reader.start();
  reader.answer("A");
  CHECK(reader.took().back() == "deliver 200 A, verified, an origin's");
  CHECK(world.counters.answered_fast.get() == 1);
  CHECK(world.calls.empty());
}

TEST_CASE("observe: without an answer of use, the client waits for the group's") {
  ReadWorld world;
  Reader reader(world);
  reader.request.mode = RouteMode::observe;
  const bool is_known = GENERATE(true, false);
  if (is_known) world.remember(reader.key(), world.sketch("A"));
  reader.start();
  if (GENERATE(true, false)) {
    reader.fail(ExchangeEnd::timed_out);
  } else {
    http::Response response = response_of("A");
    response.fields.add("connection", "set-cookie");
    reader.answer(0, std::move(response));
  }
  CHECK(reader.machine.state() == State::shared);
  world.answer(1, "A", 10);
  CHECK(reader.took().back() == "deliver 200 A, verified");
}

TEST_CASE("observe: beyond the budget, or too many, the group is not asked") {
  ReadWorld world;
  Reader reader(world);
  reader.request.mode = RouteMode::observe;
  SlowPathBudget budget({.share = 1, .per_client_second = 2}, 64, 0);
  std::size_t calls = 0;
  SECTION("the client's budget") {
    reader.request.budget = &budget;
    for (int i = 0; i < 20; ++i)
      REQUIRE(budget.take(kClient, world.now));
  }
  SECTION("calls that nobody waits for") {
    Sketch key = shared_reads_test::key_of('o');
    for (; calls < SharedReads::kUnwaitedMax; ++calls) {
      key[1] = static_cast<std::uint8_t>(calls);
      REQUIRE(shared_reads_test::ask_unwaited(world, key));
    }
  }
  reader.start();
  reader.answer("X");
  CHECK(reader.took().back() == "deliver 200 X, an origin's");
  CHECK(world.calls.size() == calls);
  CHECK(world.counters.unobserved.get() == 1);
}

TEST_CASE("whitelisted: one origin's answer is the client's, unless it is in trouble") {
  ReadWorld world;
  Reader reader(world);
  reader.request.listed = Mark::whitelisted;
  reader.start();
  CHECK_FALSE(reader.machine.asked().is_verified);
  SECTION("an answer") {
    reader.answer("X");
    CHECK(reader.took().back() == "deliver 200 X, an origin's");
    CHECK(world.counters.answered_unverified.get() == 1);
    CHECK(world.counters.whitelisted.get() == 1);
    CHECK_FALSE(reader.machine.answer_sketch().has_value());
  }
  SECTION("trouble") {
    reader.answer("X", 503);
    CHECK(reader.machine.state() == State::shared);
  }
}

TEST_CASE("whitelisted: a request that is so only since it was asked for is asked for again") {
  ReadWorld world;
  Reader reader(world);
  world.remember(reader.key(), world.sketch("A"));
  reader.start();
  REQUIRE(world.table.set_mark(reader.key(), Mark::whitelisted) == ChangeOutcome::done);
  // On a connection that it shares with others, the answer may be another request's.
  reader.answer("X");
  CHECK(reader.took() == Lines{"deadline", "ask 0", "ask 0"});
  CHECK_FALSE(reader.machine.asked().is_verified);
  reader.answer("X");
  CHECK(reader.took() == Lines{"no deadline", "deliver 200 X, an origin's"});
}

}  // namespace prophecy::sketcher
