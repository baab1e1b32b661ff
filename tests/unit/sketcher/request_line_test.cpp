#include "sketcher/request_line.hpp"

#include <catch2/catch.hpp>

namespace prophecy::sketcher {

TEST_CASE("A request line is read out of a serialised request") {
  const RequestLine line =
      parse_request_line("GET /a?b HTTP/1.1\r\naccept: */*\r\nhost: x.org\r\n\r\nbody");
  CHECK(line.method == "GET");
  CHECK(line.target == "/a?b");
  CHECK(line.authority == "x.org");
}

TEST_CASE("What is cut off reads as empty") {
  CHECK(parse_request_line("").method.empty());
  CHECK(parse_request_line("PUT").method == "PUT");
  CHECK(parse_request_line("PUT /x").target == "/x");
  CHECK(parse_request_line("PUT /x HTTP/1.1\r\nhost").authority.empty());
  CHECK(parse_request_line("PUT /x HTTP/1.1\r\n\r\nhost: body").authority.empty());
}

}  // namespace prophecy::sketcher
