#include "http/writer.hpp"

#include <catch2/catch.hpp>

#include "feeding.hpp"

namespace prophecy::http {

TEST_CASE("what is written can be read") {
  std::string out;
  append_request_line(out, "POST", "/x");
  append_field(out, "host", "a");
  append_content_length(out, 2);
  end_head(out);
  out += "hi";
  CHECK(out == "POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi");
  CHECK(request_outcome(out, out.size(), {}) ==
        "POST /x 1.1 keep [host=a][content-length=2] body=hi rest=");
}

TEST_CASE("reason phrases") {
  CHECK(reason_phrase(404) == "Not Found");
  CHECK(reason_phrase(499) == "Client Error");
  CHECK(reason_phrase(99) == "Unknown");
  CHECK(reason_phrase(600) == "Unknown");
}

}  // namespace prophecy::http
