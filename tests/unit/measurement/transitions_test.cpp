#include "measurement/analysis/transitions.hpp"

#include <string_view>

#include <catch2/catch.hpp>

namespace prophecy::measurement {
namespace {

// A letter an answer: lower case is sketched, upper case sets a cookie, a digit is weak.
std::vector<UrlFigures> count(const std::vector<std::string_view>& urls) {
  TransitionCounter counter;
  for (std::size_t url = 0; url < urls.size(); ++url) {
    for (const char c : urls[url]) {
      Observation observation;
      observation.url = static_cast<UrlNumber>(url);
      observation.body_bytes = 10;
      observation.sketch[0] = static_cast<std::uint8_t>(c | 0x20);
      if (c >= 'A' && c <= 'Z') observation.kind = AnswerKind::sets_cookie;
      if (c >= '0' && c <= '9') observation.kind = AnswerKind::weak;
      counter.add(observation);
    }
  }
  return counter.finish();
}

}  // namespace

TEST_CASE("a transition is a pair of consecutive sketched answers that differ") {
  const auto figures = count({"aabba", "a", "abab"});
  REQUIRE(figures.size() == 3);
  CHECK(figures[0].sketched.pairs == 4);
  CHECK(figures[0].sketched.transitions == 2);
  CHECK(figures[0].body_bytes == 50);
  CHECK(figures[1].sketched.pairs == 0);
  CHECK(figures[1].sketched.ratio() == 0);
  CHECK(figures[2].sketched.ratio() == 1);
}

TEST_CASE("answers that are never sketched are left out, and counted beside") {
  const auto figures = count({"aBa"});
  CHECK(figures[0].sketched.pairs == 1);
  CHECK(figures[0].sketched.transitions == 0);
  CHECK(figures[0].strong.pairs == 2);
  CHECK(figures[0].strong.transitions == 2);
  CHECK(figures[0].answers_of(AnswerKind::sets_cookie) == 1);
  CHECK(figures[0].all_answers() == 3);
}

TEST_CASE("weak answers are compared with each other alone") {
  const auto figures = count({"a1a2a"});
  CHECK(figures[0].sketched.transitions == 0);
  CHECK(figures[0].strong.pairs == 2);
  CHECK(figures[0].weak.pairs == 1);
  CHECK(figures[0].weak.transitions == 1);
}

}  // namespace prophecy::measurement
