#include "consistency/history.hpp"

#include <catch2/catch.hpp>

#include "consistency/delay_once.hpp"

namespace prophecy::consistency {

TEST_CASE("Histories are written as they are read") {
  const std::string text =
      "initial a zero\nwrite a one 1 5\nread a ? 2 -\naudit a one 7 8\ninitial b zero\n"
      "write b one 3 -\nread b zero 4 6\nread b zero 4 6 5\npublish b two 4 6\n"
      "publish b three 4 6 5\npublish b four 5 -\n";
  CHECK(to_text(parse_histories(text).value()) == text);
  CHECK(to_text(parse_histories("# a comment\n\n" + text).value()) == text);
}

TEST_CASE("A history that makes no sense is refused by its line") {
  const std::string begin = "initial a zero\nwrite a one 1 5\n";
  for (const std::string line : {"write b one 1 2",
                                 "write a one 6 7",
                                 "write a zero 6 7",
                                 "write a ? 6 7",
                                 "write a two 7 6",
                                 "write a two -1 6",
                                 "write a two x 6",
                                 "write a two 6",
                                 "write a two 6 7 7",
                                 "audit a one 6 7 7",
                                 "publish a one 6 7",
                                 "publish a two 6 7 5",
                                 "publish a two 6 - 7",
                                 "publish a ? 6 7",
                                 "publish a two 6 7 8",
                                 "read a one 6 7 5",
                                 "read a one 6 7 8",
                                 "read a one 6 7 7 7",
                                 "write a two 6 99999999999999999999",
                                 "read a one 6 -",
                                 "audit a ? 6 7",
                                 "audit a one 6 -",
                                 "sing a one 6 7",
                                 "initial a zero",
                                 "initial b",
                                 "initial b ?"}) {
    INFO(line);
    const auto parsed = parse_histories(begin + line + "\n");
    REQUIRE(parsed.has_error());
    CHECK(parsed.error().message.starts_with("line 3 "));
  }
}

TEST_CASE("What cannot be decided within bounds is not called right") {
  std::string text = "initial a zero\n";
  for (int i = 0; i < 12; ++i)
    text += "write a " + std::to_string(i) + " 1 100\n";
  const Histories histories = parse_histories(text).value();
  CHECK(decide(histories.at("a"), 100).verdict == Verdict::undecided);
  CHECK(decide(histories.at("a")).verdict == Verdict::holds);
}

}  // namespace prophecy::consistency
