#include "measurement/analysis/rabin_chunks.hpp"

#include <random>
#include <string>

#include <catch2/catch.hpp>

#include "measurement/analysis/dynamic_data.hpp"
#include "measurement/previous_bodies.hpp"

namespace prophecy::measurement {
namespace {

std::string noise(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < size)
    text += static_cast<char>(random());
  return text;
}

}  // namespace

TEST_CASE("chunks have the expected size") {
  for (const std::size_t expected : {32, 256, 1024}) {
    const std::size_t chunks = RabinChunks(expected).digests(noise(1 << 20, 1)).size();
    CHECK(chunks > (1 << 20) / expected * 9 / 10);
    CHECK(chunks < (1 << 20) / expected * 11 / 10);
  }
  CHECK(RabinChunks(1024).digests(std::string(1 << 20, '\0')).size() == (1 << 20) / (16 << 10));
  CHECK(RabinChunks(1024).digests("").empty());
}

TEST_CASE("an insertion moves few cuts") {
  const std::string before = noise(200'000, 2);
  for (const std::size_t place : {std::size_t{0}, before.size() / 2, before.size()}) {
    std::string after = before;
    after.insert(place, "a few bytes that are new");
    const BodyDifference difference = compare_bodies(before, after);
    CHECK(difference.share > 0);
    CHECK(difference.share < 0.05);
    CHECK(difference.one_edit);
    CHECK(difference.one_strict_edit);
  }
}

TEST_CASE("small bodies have at least twenty chunks") {
  for (const std::size_t size : {20, 100, 1000, 5000, 20'000}) {
    const BodyDifference difference = compare_bodies(noise(size, 3), noise(size + 10, 4));
    CHECK(difference.chunks_before >= 20);
    CHECK(difference.chunks_after >= 20);
    if (size > 1000) {
      CHECK(difference.share == 1);
      CHECK_FALSE(difference.one_edit);
    }
  }
}

TEST_CASE("two edits are no strict one") {
  const std::string before = noise(100'000, 5);
  std::string after = before;
  after[40'000] ^= 1;
  after[60'000] ^= 1;
  const BodyDifference difference = compare_bodies(before, after);
  CHECK(difference.one_edit);
  CHECK_FALSE(difference.one_strict_edit);
  after[1000] ^= 1;
  after[99'000] ^= 1;
  CHECK_FALSE(compare_bodies(before, after).one_edit);
}

TEST_CASE("an insertion may double the body, a deletion halve it") {
  const std::string body = noise(100'000, 6);
  CHECK(compare_bodies(body, body + noise(80'000, 7)).one_edit);
  CHECK_FALSE(compare_bodies(body, body + noise(130'000, 7)).one_edit);
  CHECK(compare_bodies(body, body.substr(0, 60'000)).one_edit);
  CHECK_FALSE(compare_bodies(body, body.substr(0, 40'000)).one_edit);
}

TEST_CASE("equal and empty bodies") {
  CHECK(compare_bodies("", "").share == 0);
  CHECK(compare_bodies("same", "same").share == 0);
  CHECK_FALSE(compare_bodies("same", "same").one_edit);
  CHECK(compare_bodies("", "new").share == 1);
}

TEST_CASE("previous bodies are bounded, and what did not fit is counted") {
  const std::vector<std::string> bodies = {noise(30'000, 8), noise(30'000, 9), noise(30'000, 10)};
  const auto answer = [&](std::size_t body, Microseconds time) {
    Answer made;
    made.time = time;
    made.sketch[0] = static_cast<std::uint8_t>(body);
    made.body_state = BodyState::held;
    made.body = bodies.at(body);
    return made;
  };
  RuleCandidates rules;
  PreviousBodies previous("/tmp", 70'000, rules);
  REQUIRE(previous.add(0, answer(0, 1)).has_value());
  REQUIRE(previous.add(0, answer(0, 2)).has_value());
  REQUIRE(previous.add(0, answer(1, 3)).has_value());  // compared
  REQUIRE(previous.add(0, answer(2, 1)).has_value());  // out of order
  REQUIRE(previous.add(0, answer(2, 4)).has_value());  // compared; it lies across the file's end
  REQUIRE(previous.add(0, answer(0, 5)).has_value());  // compared
  REQUIRE(previous.add(1, answer(0, 1)).has_value());
  REQUIRE(previous.add(2, answer(0, 1)).has_value());
  REQUIRE(previous.add(0, answer(1, 6)).has_value());  // overwritten
  Answer absent = answer(2, 7);
  absent.body_state = BodyState::absent;
  REQUIRE(previous.add(0, absent).has_value());
  REQUIRE(previous.add(0, answer(0, 8)).has_value());
  const DynamicData& figures = previous.figures();
  CHECK(figures.compared == 3);
  CHECK(figures.all_differs == 3);
  CHECK(figures.not_compared == std::array<std::uint64_t, 4>{2, 0, 1, 1});
}

}  // namespace prophecy::measurement
