// Reads of routes in mode `stream`: answers that may have no end.
#include "read_world.hpp"

namespace prophecy::sketcher {

using namespace read_test;
using State = ReadMachine::State;

namespace {

struct StreamWorld : ReadWorld {
  void start(const std::string& method = "GET") {
    reader.request.mode = RouteMode::stream;
    reader.request.may_hedge = true;
    reader.start(method);
  }
  // Begins an answer without a length.
  void begin() {
    start();
    REQUIRE(reader.took() == Lines{"ask 0"});
    response = response_of("one");
    reader.progress(response);
    REQUIRE(reader.took() ==
            Lines{fmt::format("ask the client for {}", BodyRelay::kStreamPieceBytes), "begin",
                  "extend", "send 3"});
  }
  Reader reader{*this};
  http::Response response;
};

}  // namespace

TEST_CASE("stream: one origin is asked, without a deadline and without a hedge") {
  StreamWorld world;
  world.start();
  CHECK(world.reader.took() == Lines{"ask 0"});
  const replica_client::FastForm asked = world.reader.machine.asked();
  CHECK(asked.is_streamed);
  CHECK(asked.piece_bytes == BodyRelay::kStreamPieceBytes);
  CHECK(asked.whole_bytes == 0);
  CHECK_FALSE(asked.is_verified);
  CHECK(world.reader.machine.is_streamed());
}

TEST_CASE("stream: pieces go to the client as they come, and the end is the origin's") {
  StreamWorld world;
  world.begin();
  CHECK(world.reader.machine.answer().is_open_ended());
  CHECK_FALSE(world.reader.machine.answer_sketch().has_value());
  CHECK(world.counters.answered_unverified.get() == 1);
  world.response.body = "two";
  world.reader.progress(world.response);
  CHECK(world.reader.took() == Lines{"extend", "send 3"});
  SECTION("with the last bytes") {
    world.response.body = "last";
    world.reader.answer(0, std::move(world.response));
    CHECK(world.reader.took() == Lines{"send 4", "end"});
    CHECK((world.reader.body == "onetwolast"));
  }
  SECTION("behind them") {
    world.response.body.clear();
    world.reader.answer(0, std::move(world.response));
    CHECK(world.reader.took() == Lines{"end"});
    CHECK(world.large.completed.get() == 1);
  }
  SECTION("cut off") {
    const ExchangeEnd end = GENERATE(ExchangeEnd::broken, ExchangeEnd::timed_out);
    world.reader.fail(end);
    CHECK(world.reader.took() == Lines{"cut off"});
    CHECK(world.ended(0, end) == 1);
  }
  SECTION("the client leaves") {
    world.reader.leave();
    CHECK(world.reader.took() == Lines{"cancel 0"});
  }
}

TEST_CASE("stream: an origin waits while its client takes nothing, and what it has is not lost") {
  StreamWorld world;
  world.begin();
  world.reader.takes = false;
  world.response.body = "two";
  world.reader.progress(world.response);
  CHECK(world.reader.took() == Lines{"extend", "send 3", "pause"});
  // What was read already.
  world.response.body = "three";
  SECTION("and goes on") {
    world.reader.progress(world.response);
    CHECK(world.reader.took().empty());
    world.reader.takes = true;
    world.reader.writable();
    CHECK(world.reader.took() == Lines{"resume", "extend", "send 5"});
    world.reader.answer(0, response_of(""));
    CHECK(world.reader.took() == Lines{"end"});
  }
  SECTION("or ends meanwhile") {
    world.reader.answer(0, std::move(world.response));
    CHECK(world.reader.took().empty());
    world.reader.takes = true;
    world.reader.writable();
    CHECK(world.reader.took() == Lines{"send 5", "end"});
    CHECK((world.reader.body == "onetwothree"));
  }
}

TEST_CASE("stream: an answer with a length has it, and one without a body is delivered whole") {
  StreamWorld world;
  world.start();
  REQUIRE(world.reader.took() == Lines{"ask 0"});
  SECTION("a length") {
    http::Response response = response_of("one");
    response.fields.add("content-length", "6");
    world.reader.progress(response);
    CHECK(world.reader.machine.answer().blocks.length == 6);
    static_cast<void>(world.reader.took());
    response.body = "two";
    world.reader.answer(0, std::move(response));
    CHECK(world.reader.took() == Lines{"send 3", "end"});
  }
  SECTION("no body") {
    const auto status = static_cast<std::uint16_t>(GENERATE(200, 204, 304));
    http::Response response = response_of("", status);
    if (status == 200) response.fields.add("content-length", "0");
    world.reader.progress(response);
    CHECK(world.reader.took().empty());
    world.reader.answer(0, std::move(response));
    CHECK(world.reader.took() == Lines{fmt::format("deliver {} , an origin's", status)});
  }
  SECTION("a length that is none") {
    http::Response response = response_of("one");
    response.fields.add("content-length", "six");
    world.reader.progress(response);
    CHECK(world.reader.took() == Lines{"cancel 0", "refuse 502 origin-answer-unusable"});
  }
}

TEST_CASE("stream: an origin that cannot be reached is replaced, one that is silent is not") {
  StreamWorld world;
  world.start();
  REQUIRE(world.reader.took() == Lines{"ask 0"});
  SECTION("not reached") {
    const ExchangeEnd end =
        GENERATE(ExchangeEnd::not_sent, ExchangeEnd::overloaded, ExchangeEnd::broken);
    world.reader.fail(end);
    CHECK(world.reader.took() == Lines{"ask 1"});
  }
  SECTION("silent for all the time there is") {
    world.reader.fail(ExchangeEnd::timed_out);
    CHECK(world.reader.took() == Lines{"refuse 504 origin-too-slow"});
  }
}

TEST_CASE("stream: HEAD and writes are as on a route that is off") {
  StreamWorld world;
  SECTION("HEAD") {
    world.start("HEAD");
    CHECK(world.reader.took() == Lines{"deadline", "ask 0"});
    CHECK_FALSE(world.reader.machine.is_streamed());
    CHECK_FALSE(world.reader.machine.asked().is_streamed);
  }
  SECTION("POST") {
    world.start("POST");
    CHECK(world.reader.took() == Lines{"order"});
  }
}

}  // namespace prophecy::sketcher
