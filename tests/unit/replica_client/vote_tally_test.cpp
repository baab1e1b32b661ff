#include "replica_client/core/vote_tally.hpp"

#include <catch2/catch.hpp>

namespace prophecy::replica_client {
namespace {

using State = VoteTally::State;

Sha256::Digest digest_of(std::string_view text) {
  return sha256(as_bytes(text));
}

}  // namespace

TEST_CASE("f+1 equal answers are the group's") {
  VoteTally tally(4, 1);
  tally.on_vote(2, digest_of("a"));
  CHECK(tally.state() == State::open);
  tally.on_vote(0, digest_of("a"));
  REQUIRE(tally.state() == State::agreed);
  CHECK(tally.agreed() == digest_of("a"));
  CHECK_FALSE(tally.all_voted());
}

TEST_CASE("f equal lies change nothing, and are told, be they early or late") {
  VoteTally tally(5, 2);
  tally.on_vote(0, digest_of("lie"));
  tally.on_vote(1, digest_of("a"));
  tally.on_vote(2, digest_of("a"));
  CHECK(tally.state() == State::open);
  tally.on_vote(3, digest_of("a"));
  REQUIRE(tally.state() == State::agreed);
  CHECK(tally.agreed() == digest_of("a"));
  CHECK(tally.refuted() == 1);
  tally.on_vote(4, digest_of("lie"));
  CHECK(tally.refuted() == 0b10001);
  CHECK(tally.all_voted());
}

TEST_CASE("More than f equal answers that come late change no agreement") {
  VoteTally tally(4, 1);
  tally.on_vote(0, digest_of("a"));
  tally.on_vote(1, digest_of("a"));
  tally.on_vote(2, digest_of("b"));
  tally.on_vote(3, digest_of("b"));
  CHECK(tally.state() == State::agreed);
  CHECK(tally.agreed() == digest_of("a"));
  CHECK(tally.refuted() == 0b1100);
}

TEST_CASE("It counts on who gave the agreed answer, late ones too") {
  VoteTally tally(5, 1);
  tally.on_vote(0, digest_of("a"));
  tally.on_vote(1, digest_of("b"));
  tally.on_vote(2, digest_of("a"));
  REQUIRE(tally.state() == State::agreed);
  CHECK(tally.agreeing() == 2);
  tally.on_no_vote(3);
  tally.on_vote(4, digest_of("a"));
  CHECK(tally.agreeing() == 3);
}

TEST_CASE("Origins that do not answer leave enough, or the request starves") {
  VoteTally tally(3, 1);
  tally.on_no_vote(0);
  tally.on_vote(1, digest_of("a"));
  CHECK(tally.state() == State::open);
  SECTION("enough") {
    tally.on_vote(2, digest_of("a"));
    CHECK(tally.state() == State::agreed);
  }
  SECTION("too few") {
    tally.on_no_vote(2);
    CHECK(tally.state() == State::starved);
  }
  SECTION("a dispute") {
    tally.on_vote(2, digest_of("b"));
    CHECK(tally.state() == State::disputed);
  }
  CHECK(tally.all_voted());
}

TEST_CASE("It is told as early as can be that nothing can be agreed on") {
  VoteTally starved(4, 1);
  starved.on_no_vote(0);
  starved.on_no_vote(1);
  CHECK(starved.state() == State::open);
  starved.on_no_vote(2);
  CHECK(starved.state() == State::starved);
  VoteTally disputed(5, 2);
  for (NodeId origin = 0; origin < 4; ++origin) {
    CHECK(disputed.state() == State::open);
    disputed.on_vote(origin, digest_of(std::to_string(origin)));
  }
  CHECK(disputed.state() == State::disputed);
}

}  // namespace prophecy::replica_client
