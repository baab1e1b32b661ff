// Unverified pieces of one origin's answer.
#include "body_relay_world.hpp"

namespace prophecy::sketcher {

using namespace read_test;

namespace {

struct PiecesWorld {
  Step start(std::uint64_t first, std::uint64_t size, bool may_begin = true) {
    return world.relay.start_unverified(world.core.group, 1, 2, first, size, may_begin);
  }
  RelayWorld world;
};

}  // namespace

TEST_CASE("pieces: they go on as they come") {
  PiecesWorld pieces;
  RelayWorld& world = pieces.world;
  CHECK(pieces.start(0, 6) == Step::waits);
  CHECK(world.relay.is_released());
  CHECK(world.piece("abc") == Step::waits);
  CHECK(world.took() == Lines{"extend", "send 3"});
  CHECK(world.end(ExchangeEnd::answered, "def") == Step::complete);
  CHECK(world.took() == Lines{"send 3"});
  CHECK((world.body == "abcdef"));
  CHECK(world.ended(2, ExchangeEnd::answered) == 1);
}

TEST_CASE("pieces: a part of them") {
  PiecesWorld pieces;
  RelayWorld& world = pieces.world;
  CHECK(pieces.start(4, 3) == Step::waits);
  CHECK(world.piece("abc") == Step::waits);
  CHECK(world.took() == Lines{"extend"});  // it is read, though the client gets nothing of it
  CHECK(world.piece("def") == Step::waits);
  CHECK(world.took() == Lines{"extend", "send 2"});
  CHECK(world.piece("ghi") == Step::complete);
  CHECK(world.took() == Lines{"extend", "send 1", "cancel"});
  CHECK((world.body == "efg"));
}

TEST_CASE("pieces: none of them") {
  PiecesWorld pieces;
  CHECK(pieces.start(0, 0) == Step::complete);
  CHECK(pieces.world.took() == Lines{"cancel"});
}

TEST_CASE("pieces: what is cut off cannot be had from another origin") {
  PiecesWorld pieces;
  RelayWorld& world = pieces.world;
  CHECK(pieces.start(0, 6) == Step::waits);
  CHECK(world.piece("abc") == Step::waits);
  const auto end = GENERATE(ExchangeEnd::broken, ExchangeEnd::timed_out, ExchangeEnd::answered);
  CHECK(world.end(end, end == ExchangeEnd::answered ? "de" : "") == Step::broken);
  CHECK(world.took().back() == (end == ExchangeEnd::answered ? "send 2" : "send 3"));
}

TEST_CASE("pieces: the origin waits for the client, and is not let go") {
  PiecesWorld pieces;
  RelayWorld& world = pieces.world;
  SECTION("in the midst") {
    CHECK(pieces.start(0, 6) == Step::waits);
    world.takes = false;
    CHECK(world.piece("abc") == Step::waits);
    CHECK(world.took() == Lines{"extend", "send 3", "pause"});
    CHECK(world.piece("d") == Step::waits);
    CHECK(world.took().empty());
  }
  SECTION("from the beginning") {
    CHECK(pieces.start(0, 6, false) == Step::waits);
    CHECK(world.took() == Lines{"pause"});
    CHECK(world.piece("abcd") == Step::waits);
    CHECK(world.took().empty());
  }
  world.takes = true;
  CHECK(world.writable() == Step::waits);
  CHECK(world.took().front() == "resume");
  CHECK(world.piece("ef") == Step::complete);
  CHECK((world.body == "abcdef"));
}

}  // namespace prophecy::sketcher
