#include "tools/table.hpp"

#include <iostream>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace prophecy::tools;
using Json = nlohmann::ordered_json;

namespace {

std::string printed(const Json& rows) {
  std::ostringstream text;
  std::streambuf* const before = std::cout.rdbuf(text.rdbuf());
  print_table("rows", rows);
  std::cout.rdbuf(before);
  return text.str();
}

}  // namespace

TEST_CASE("table: columns are as wide as what stands in them, counts of zero are left out") {
  const Json rows = Json::array({{{"name", "a"}, {"failures", {{"late", 2}, {"cut", 0}}}},
                                 {{"name", "longer"}, {"failures", nullptr}}});
  CHECK(printed(rows) ==
        "\nrows\n"
        "  name    failures\n"
        "  a       late 2  \n"
        "  longer  -       \n");
  CHECK(printed(Json::array()).empty());
}

TEST_CASE("table: what others have named controls no terminal") {
  const Json rows =
      Json::array({{{"name", "\x1b[2J"}, {"problems", {"one\ntwo"}}, {"sta\rte", {{"\x07", 1}}}}});
  const std::string text = printed(rows);
  CHECK_THAT(text, Catch::Contains("\\u001B[2J") && Catch::Contains("one\\u000Atwo") &&
                       Catch::Contains("sta\\u000Dte") && Catch::Contains("\\u0007 1"));
  CHECK(text.find_first_of("\x1b\r\x07") == std::string::npos);
  CHECK(scalar_text("a\tb") == "a\\u0009b");
}
