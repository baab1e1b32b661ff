// Parts of a body in blocks, and clients that take their time.
#include "body_relay_world.hpp"

namespace prophecy::sketcher {

using namespace read_test;

namespace {

const std::string kLongBody = body_of_blocks(4, 7);

}  // namespace

TEST_CASE("relay: a part is sent out of the blocks that it lies in") {
  RelayWorld world;
  const auto [first, size, begin_block, last_block] =
      GENERATE(Catch::Generators::table<std::size_t, std::size_t, std::size_t, std::size_t>({
          {10, 20, 0, 0},
          {0, kBlock, 0, 0},
          {0, kBlock + 1, 0, 1},
          {kBlock - 1, 2, 0, 1},
          {kBlock, 1, 1, 1},
          {kBlock + 1, 2 * kBlock, 1, 3},
          {4 * kBlock, 7, 4, 4},
          {4 * kBlock + 6, 1, 4, 4},
      }));
  REQUIRE(world.start(Source::remembered, kLongBody, first, size, true, kConstantWire) ==
          Step::waits);
  world.note();
  const std::size_t end = std::min(kLongBody.size(), (last_block + 1) * kBlock);
  CHECK(world.wire.ends_with(
      fmt::format("\r\nrange: bytes={}-{}\r\n\r\n", begin_block * kBlock, end - 1)));
  CHECK(world.piece(world.part(kLongBody, begin_block, last_block)) == Step::complete);
  CHECK((world.body == kLongBody.substr(first, size)));
}

TEST_CASE("relay: where nothing is wanted of a body, one block shows that the answer holds") {
  RelayWorld world;
  const std::size_t first = GENERATE(std::size_t{0}, std::size_t{2 * kBlock});
  REQUIRE(world.start(Source::remembered, kLongBody, first, 0, true, kConstantWire) == Step::waits);
  CHECK(world.piece(world.part(kLongBody, first / kBlock, first / kBlock)) == Step::complete);
  CHECK(world.took() == Lines{"ask 0", "verified", "extend", "cancel"});
  CHECK(world.body.empty());
}

TEST_CASE("relay: an answer to a range is checked for being that range, and refutes nothing") {
  RelayWorld world;
  REQUIRE(world.start(Source::remembered, kLongBody, kBlock, kBlock, true, kConstantWire) ==
          Step::waits);
  http::Response part = world.part(kLongBody, 1, 1);
  SECTION("another range") {
    part = world.part(kLongBody, 2, 2);
  }
  SECTION("no range") {
    part.fields = {};
  }
  SECTION("another head") {
    part.fields.add("content-type", "text/plain");
  }
  SECTION("an error") {
    part.status = 500;
  }
  SECTION("the whole, of another length") {
    part = response_of(kLongBody);
    part.fields.add("content-length", "10");
  }
  const Step step = world.piece(std::move(part));
  CHECK(step == Step::waits);
  CHECK(world.took() == Lines{"ask 0", "cancel", "ask 1"});
  CHECK(world.piece(world.part(kLongBody, 1, 1)) == Step::complete);
  CHECK((world.body == kLongBody.substr(kBlock, kBlock)));
}

TEST_CASE("relay: a whole body in place of a range is read up to 64 MiB") {
  RelayWorld world;
  constexpr std::uint64_t kSkipped = 64 << 20;
  const bool is_too_far = GENERATE(false, true);
  const std::string whole(kSkipped + 2 * kBlock, 'a');
  const std::uint64_t first = kSkipped + (is_too_far ? kBlock : 0);
  REQUIRE(world.start(Source::agreed, whole, first, 1) == Step::waits);
  CHECK(world.piece("a") == Step::waits);
  CHECK(world.took() ==
        (is_too_far ? Lines{"ask 0", "cancel", "ask 1"} : Lines{"ask 0", "extend"}));
}

TEST_CASE("relay: nothing is read from the origin while the client takes nothing") {
  RelayWorld world;
  REQUIRE(world.start_all(Source::agreed, kLongBody) == Step::waits);
  world.takes = false;
  CHECK(world.piece(kLongBody.substr(0, 2 * kBlock)) == Step::waits);
  CHECK(world.took() == Lines{"ask 0", "verified", "extend", kSend, "pause", "untaken"});
  SECTION("it takes more in time") {
    world.takes = true;
    CHECK(world.writable() == Step::waits);
    CHECK(world.took() == Lines{"no untaken", "resume", "extend", kSend});
    CHECK(world.writable() == Step::waits);
    CHECK(world.took().empty());
  }
  SECTION("it does not: the origin's connection is free for others") {
    world.relay.on_untaken_time();
    CHECK(world.took() == Lines{"cancel"});
    CHECK(world.large.let_go.get() == 1);
    world.takes = true;
    CHECK(world.writable() == Step::waits);
    CHECK(world.took() == Lines{"ask 0"});
    CHECK(world.large.switched.get() == 0);  // nobody has failed
    CHECK(world.piece(world.part(kLongBody, 1, 4)) == Step::complete);
    CHECK((world.body == kLongBody));
  }
  SECTION("its origin ends meanwhile: what has come is kept, and the time means nothing") {
    CHECK(world.end(ExchangeEnd::answered, kLongBody.substr(2 * kBlock)) == Step::waits);
    world.relay.on_untaken_time();
    CHECK(world.took().empty());
    CHECK(world.large.let_go.get() == 0);
    world.takes = true;
    CHECK(world.writable() == Step::complete);
    CHECK((world.body == kLongBody));
  }
  SECTION("its origin breaks off meanwhile: another one is asked for the rest") {
    CHECK(world.end(ExchangeEnd::broken) == Step::waits);
    CHECK(world.took() == Lines{"ask 1"});
  }
  SECTION("it leaves") {
    world.relay.abandon();
    CHECK(world.took() == Lines{"cancel", "no untaken"});
    CHECK(world.relay.request_bytes() < 64);
    CHECK(world.writable() == Step::waits);
  }
}

TEST_CASE("relay: the client's pause is told to the origin once, and its time once") {
  RelayWorld world;
  REQUIRE(world.start_all(Source::agreed, kLongBody) == Step::waits);
  world.takes = false;
  CHECK(world.piece(kLongBody.substr(0, kBlock)) == Step::waits);
  CHECK(world.piece(kLongBody.substr(kBlock, kBlock)) == Step::waits);
  CHECK(world.took() == Lines{"ask 0", "verified", "extend", kSend, "pause", "untaken"});
}

TEST_CASE("relay: a client that takes nothing yet has no origin asked for it") {
  RelayWorld world;
  REQUIRE(world.start(Source::agreed, kLongBody, 0, kLongBody.size(), false) == Step::waits);
  CHECK(world.took().empty());
  CHECK(world.writable() == Step::waits);
  CHECK(world.took() == Lines{"ask 0"});
  CHECK(world.piece(kLongBody) == Step::complete);
}

TEST_CASE("relay: a whole answer that ends too early is a failure of its origin") {
  RelayWorld world;
  REQUIRE(world.start_all(Source::agreed, kLongBody) == Step::waits);
  REQUIRE(world.took() == Lines{"ask 0"});
  http::Response cut = response_of(kLongBody.substr(0, 10));
  CHECK(world.relay.on_progress(cut) == Step::waits);
  http::Response none;
  CHECK(world.relay.on_end(ExchangeEnd::answered, none) == Step::waits);
  CHECK(world.took() == Lines{"ask 1"});
  CHECK(world.ended(0, ExchangeEnd::malformed) == 1);
  CHECK(world.ended(0, ExchangeEnd::answered) == 0);
  // One that brings all of it has answered.
  CHECK(world.piece(kLongBody) != Step::failed);
}

TEST_CASE("relay: abandoned wherever it is, it cancels what is under way, and serves again") {
  RelayWorld world;
  REQUIRE(world.start_all(Source::agreed, kLongBody) == Step::waits);
  SECTION("before an answer") {}
  SECTION("in the midst of a block") {
    CHECK(world.piece(kLongBody.substr(0, 10)) == Step::waits);
  }
  SECTION("before the client's head") {
    http::Response response = response_of(kLongBody.substr(0, kBlock));
    CHECK(world.relay.on_progress(response) == Step::verified);
    CHECK_FALSE(world.relay.is_released());
  }
  SECTION("between two blocks") {
    CHECK(world.piece(kLongBody.substr(0, kBlock)) == Step::waits);
    CHECK(world.relay.is_released());
  }
  static_cast<void>(world.took());
  world.relay.abandon();
  CHECK(world.took() == Lines{"cancel"});
  world.relay.abandon();
  CHECK(world.took().empty());
  world.body.clear();
  REQUIRE(world.start_all(Source::agreed, kLongBody) == Step::waits);
  CHECK(world.piece(kLongBody) == Step::complete);
  CHECK((world.body == kLongBody));
}

}  // namespace prophecy::sketcher
