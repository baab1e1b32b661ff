#include "http/http_date.hpp"

#include <catch2/catch.hpp>

namespace prophecy::http {
namespace {

constexpr std::chrono::sys_seconds kExample{std::chrono::seconds(784111777)};

}  // namespace

TEST_CASE("The three forms of a date (RFC 9110, 5.6.7)") {
  CHECK(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT") == kExample);
  CHECK(parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT") == kExample);
  CHECK(parse_http_date("Sun Nov  6 08:49:37 1994") == kExample);
  CHECK(parse_http_date("Thu Nov 10 08:49:37 1994") == kExample + std::chrono::days(4));
  CHECK(parse_http_date("Saturday, 01-Jan-00 00:00:00 GMT") ==
        std::chrono::sys_seconds(std::chrono::seconds(946684800)));
}

TEST_CASE("A leap second counts as the one before") {
  CHECK(parse_http_date("Sat, 31 Dec 2016 23:59:60 GMT") ==
        parse_http_date("Sat, 31 Dec 2016 23:59:59 GMT"));
}

TEST_CASE("Anything else is no date") {
  const auto* text =
      GENERATE("", "0", "-1", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 GMT ",
               "Sun, 06 Nov 1994 08:49:37 +0000", "sun, 06 Nov 1994 08:49:37 GMT",
               "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
               "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
               "Sun Nov 6 08:49:37 1994", "Sun, 06 Nov 19-4 08:49:37 GMT", "1994-11-06T08:49:37Z");
  CHECK_FALSE(parse_http_date(text).has_value());
}

}  // namespace prophecy::http
