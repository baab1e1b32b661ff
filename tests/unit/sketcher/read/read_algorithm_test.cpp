// Algorithm 1, line by line.
#include "sketcher/core/read/read_algorithm.hpp"

#include <catch2/catch.hpp>

namespace prophecy::sketcher {
namespace {

Sketch sketch_of(std::uint8_t content) {
  Sketch sketch{};
  sketch.fill(content);
  return sketch;
}

HistoryEntry entry(std::uint8_t content, Sigma sigma = 1) {
  return {.answer = sketch_of(content), .sigma = sigma, .mark = Mark::none};
}

HistoryEntry marked(Mark mark) {
  return {.answer = {}, .sigma = 0, .mark = mark};
}

}  // namespace

TEST_CASE("A read without an entry is replicated, and its sketch recorded") {
  ReadAlgorithm read;
  CHECK(read.on_request(std::nullopt) == ReadStep::ask_group);
  const Verdict verdict = read.on_replicated_answer(sketch_of(7));
  CHECK_FALSE(verdict.transition);
  CHECK_FALSE(verdict.divergence);
}

TEST_CASE("A fast answer that equals the history is delivered") {
  ReadAlgorithm read;
  REQUIRE(read.on_request(entry(7)) == ReadStep::ask_one);
  CHECK(read.on_fast_answer(sketch_of(7), entry(7), false) == ReadStep::deliver_fast);
}

TEST_CASE("The second lookup decides, not the first") {
  SECTION("the history has moved on: the old answer fails") {
    ReadAlgorithm read;
    REQUIRE(read.on_request(entry(7)) == ReadStep::ask_one);
    CHECK(read.on_fast_answer(sketch_of(7), entry(8, 2), false) == ReadStep::ask_group);
  }
  SECTION("the history has moved on: the new answer passes") {
    ReadAlgorithm read;
    REQUIRE(read.on_request(entry(7)) == ReadStep::ask_one);
    CHECK(read.on_fast_answer(sketch_of(8), entry(8, 2), false) == ReadStep::deliver_fast);
  }
  SECTION("the entry was evicted: nothing passes") {
    ReadAlgorithm read;
    REQUIRE(read.on_request(entry(7)) == ReadStep::ask_one);
    CHECK(read.on_fast_answer(sketch_of(7), std::nullopt, false) == ReadStep::ask_group);
  }
  SECTION("the entry was blacklisted meanwhile: nothing passes") {
    ReadAlgorithm read;
    REQUIRE(read.on_request(entry(7)) == ReadStep::ask_one);
    CHECK(read.on_fast_answer(sketch_of(7), marked(Mark::blacklisted), false) ==
          ReadStep::ask_group);
  }
}

TEST_CASE("What the group says of a fast answer that failed") {
  ReadAlgorithm read;
  REQUIRE(read.on_request(entry(7)) == ReadStep::ask_one);
  REQUIRE(read.on_fast_answer(sketch_of(8), entry(7), false) == ReadStep::ask_group);
  SECTION("the state has changed, and the origin was right") {
    const Verdict verdict = read.on_replicated_answer(sketch_of(8));
    CHECK(verdict.transition);
    CHECK_FALSE(verdict.divergence);
  }
  SECTION("nothing has changed: the origin was wrong") {
    const Verdict verdict = read.on_replicated_answer(sketch_of(7));
    CHECK_FALSE(verdict.transition);
    CHECK(verdict.divergence);
  }
  SECTION("both") {
    const Verdict verdict = read.on_replicated_answer(sketch_of(9));
    CHECK(verdict.transition);
    CHECK_FALSE(verdict.divergence);  // with a state that changes, nobody can tell
  }
}

TEST_CASE("A replica that is a moment behind a change is not accused") {
  ReadAlgorithm read;
  REQUIRE(read.on_request(entry(7)) == ReadStep::ask_one);
  // Another read has found the new state meanwhile; this origin still answers with the old one.
  REQUIRE(read.on_fast_answer(sketch_of(7), entry(8, 2), false) == ReadStep::ask_group);
  CHECK_FALSE(read.on_replicated_answer(sketch_of(8)).divergence);
}

TEST_CASE("Nor is one whose answer waited behind another while the state went on twice") {
  ReadAlgorithm read;
  REQUIRE(read.on_request(entry(7)) == ReadStep::ask_one);
  REQUIRE(read.on_fast_answer(sketch_of(8), entry(9, 3), false) == ReadStep::ask_group);
  CHECK_FALSE(read.on_replicated_answer(sketch_of(9)).divergence);
}

TEST_CASE("An origin without an answer is no divergence") {
  ReadAlgorithm read;
  REQUIRE(read.on_request(entry(7)) == ReadStep::ask_one);
  CHECK(read.on_fast_failure() == ReadStep::ask_group);
  const Verdict verdict = read.on_replicated_answer(sketch_of(7));
  CHECK_FALSE(verdict.divergence);
  CHECK_FALSE(verdict.transition);
}

TEST_CASE("Answers that may not be sketched") {
  SECTION("from an origin: validate nothing, and diverge from what was agreed") {
    ReadAlgorithm read;
    REQUIRE(read.on_request(entry(7)) == ReadStep::ask_one);
    CHECK(read.on_fast_answer(std::nullopt, entry(7), false) == ReadStep::ask_group);
    CHECK(read.on_replicated_answer(sketch_of(7)).divergence);
  }
  SECTION("from the group: outdate the entry, which then validates nothing") {
    ReadAlgorithm read;
    REQUIRE(read.on_request(std::nullopt) == ReadStep::ask_group);
    (void)read.on_replicated_answer(std::nullopt);
    const HistoryEntry none{.answer = kNoSketch, .sigma = 2, .mark = Mark::none};
    ReadAlgorithm next;
    CHECK(next.on_request(none) == ReadStep::ask_group);
    ReadAlgorithm overtaken;
    REQUIRE(overtaken.on_request(entry(7)) == ReadStep::ask_one);
    CHECK(overtaken.on_fast_answer(kNoSketch, none, false) == ReadStep::ask_group);
  }
}

TEST_CASE("Operators' marks") {
  SECTION("blacklisted: always replicated") {
    ReadAlgorithm read;
    CHECK(read.on_request(marked(Mark::blacklisted)) == ReadStep::ask_group);
  }
  SECTION("whitelisted: an answer that may not be sketched is left to the group") {
    ReadAlgorithm read;
    REQUIRE(read.on_request(marked(Mark::whitelisted)) == ReadStep::ask_one);
    CHECK(read.on_fast_answer(std::nullopt, marked(Mark::whitelisted), false) ==
          ReadStep::ask_group);
  }
  SECTION("whitelisted: any other answer of one origin passes") {
    ReadAlgorithm read;
    REQUIRE(read.on_request(marked(Mark::whitelisted)) == ReadStep::ask_one);
    CHECK(read.on_fast_answer(sketch_of(9), marked(Mark::whitelisted), false) ==
          ReadStep::deliver_unverified);
  }
}

TEST_CASE("A read that avoids the fast one is compared with the history all the same") {
  SECTION("a transition") {
    ReadAlgorithm read;
    REQUIRE(read.on_request(entry(7), true) == ReadStep::ask_group);
    const Verdict verdict = read.on_replicated_answer(sketch_of(8));
    CHECK(verdict.compared);
    CHECK(verdict.transition);
    CHECK_FALSE(verdict.divergence);
  }
  SECTION("none") {
    ReadAlgorithm read;
    REQUIRE(read.on_request(entry(7), true) == ReadStep::ask_group);
    const Verdict verdict = read.on_replicated_answer(sketch_of(7));
    CHECK(verdict.compared);
    CHECK_FALSE(verdict.transition);
    CHECK_FALSE(verdict.divergence);
  }
  SECTION("where the history holds nothing, there is nothing to compare with") {
    ReadAlgorithm read;
    REQUIRE(read.on_request(std::nullopt, true) == ReadStep::ask_group);
    CHECK_FALSE(read.on_replicated_answer(sketch_of(7)).compared);
  }
}

TEST_CASE("What one origin does is no transition") {
  SECTION("it lies") {
    ReadAlgorithm read;
    REQUIRE(read.on_request(entry(7)) == ReadStep::ask_one);
    REQUIRE(read.on_fast_answer(sketch_of(8), entry(7), false) == ReadStep::ask_group);
    const Verdict verdict = read.on_replicated_answer(sketch_of(7));
    CHECK(verdict.compared);
    CHECK_FALSE(verdict.transition);
  }
  SECTION("it does not answer") {
    ReadAlgorithm read;
    REQUIRE(read.on_request(entry(7)) == ReadStep::ask_one);
    REQUIRE(read.on_fast_failure() == ReadStep::ask_group);
    CHECK_FALSE(read.on_replicated_answer(sketch_of(7)).compared);
  }
}

TEST_CASE("A forced failure accuses nobody and counts as no transition") {
  ReadAlgorithm read;
  REQUIRE(read.on_request(entry(7)) == ReadStep::ask_one);
  CHECK(read.on_fast_answer(sketch_of(7), entry(7), true) == ReadStep::ask_group);
  CHECK(read.was_forced());
  const Verdict verdict = read.on_replicated_answer(sketch_of(7));
  CHECK_FALSE(verdict.divergence);
  CHECK_FALSE(verdict.transition);
}

}  // namespace prophecy::sketcher
