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

TEST_CASE("chunks") {
  std::string out;
  append_status_line(out, 200);
  append_chunked(out);
  end_head(out);
  append_chunk(out, std::string(17, 'a'));
  append_chunk(out, "");
  append_chunk(out, "b");
  append_last_chunk(out);
  CHECK(out.ends_with("\r\n\r\n11\r\naaaaaaaaaaaaaaaaa\r\n1\r\nb\r\n0\r\n\r\n"));
  CHECK(response_outcome(out, out.size(), {}, false, false) ==
        "200 1.1 keep [transfer-encoding=chunked] body=aaaaaaaaaaaaaaaaab rest=");
}

TEST_CASE("reason phrases") {
  CHECK(reason_phrase(404) == "Not Found");
  CHECK(reason_phrase(499) == "Client Error");
  CHECK(reason_phrase(99) == "Unknown");
  CHECK(reason_phrase(600) == "Unknown");
}

}  // namespace prophecy::http
