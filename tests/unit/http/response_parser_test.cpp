#include <catch2/catch.hpp>

#include "feeding.hpp"

namespace prophecy::http {
namespace {

struct AnswerCase {
  std::string input;
  std::string outcome;  // a prefix of it, when it ends in "..."
  bool answers_head = false;
  bool then_close = false;
};

void check_answers(const std::vector<AnswerCase>& cases, const MessageLimits& limits = {}) {
  for (const AnswerCase& c : cases) {
    INFO("input: " << c.input);
    const std::string whole =
        response_outcome(c.input, c.input.size(), limits, c.answers_head, c.then_close);
    if (c.outcome.ends_with("...")) {
      CHECK(whole.substr(0, c.outcome.size() - 3) == c.outcome.substr(0, c.outcome.size() - 3));
    } else {
      CHECK(whole == c.outcome);
    }
    for (const std::size_t piece_size : {1u, 2u, 3u, 7u, 64u}) {
      CHECK(response_outcome(c.input, piece_size, limits, c.answers_head, c.then_close) == whole);
    }
  }
}

}  // namespace

TEST_CASE("answers that are accepted") {
  check_answers({
      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhixyz",
       "200 1.1 keep [content-length=2] body=hi rest=xyz"},
      {"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "200 1.1 keep [content-length=0] body= rest="},
      {"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", "200 1.1 keep [content-length=0] body= rest="},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\nxyz",
       "200 1.1 keep [transfer-encoding=chunked] body=hi rest=xyz"},
      {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi",
       "200 1.0 keep [connection=keep-alive][content-length=2] body=hi rest="},
      {"HTTP/1.1 204 No Content\r\n\r\nxyz", "204 1.1 keep  body= rest=xyz"},
      {"HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nxyz",
       "204 1.1 close [content-length=3] body= rest=xyz"},
      {"HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\nHTTP",
       "304 1.1 keep [content-length=3] body= rest=HTTP"},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
       "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nh",
       "200 1.1 keep [content-length=1] body=h rest="},
      {"HTTP/1.1 199 Odd\r\nContent-Length: 3\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nh",
       "200 1.1 keep [content-length=1] body=h rest="},
  });
}

TEST_CASE("answers to HEAD have no body") {
  check_answers({
      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nHT",
       "200 1.1 keep [content-length=2] body= rest=HT", true},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
       "200 1.1 keep [transfer-encoding=chunked] body= rest=", true},
      {"HTTP/1.1 200 OK\r\n\r\n", "200 1.1 keep  body= rest=", true},
  });
}

TEST_CASE("a body may end with the connection") {
  check_answers({
      {"HTTP/1.1 200 OK\r\n\r\nall of it", "200 1.1 close  body=all of it rest=", false, true},
      {"HTTP/1.1 200 OK\r\n\r\nall of it", "more body", false, false},
      {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n",
       "200 1.0 close [connection=keep-alive] body= rest=", false, true},
  });
  MessageLimits limits;
  limits.body_bytes_max = 4;
  check_answers({{"HTTP/1.1 200 OK\r\n\r\nfour", "200 1.1 close  body=four rest=", false, true},
                 {"HTTP/1.1 200 OK\r\n\r\nfive!", "502 body too large", false, true}},
                limits);
}

TEST_CASE("answers that are refused") {
  std::string interim;
  for (int i = 0; i < 9; ++i)
    interim += "HTTP/1.1 100 Continue\r\n\r\n";
  check_answers({
      {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", "502 connection closed ...", false, true},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n",
       "502 connection closed ...", false, true},
      {"HTTP/1.1 200 OK\r\nContent-Le", "502 connection closed ...", false, true},
      {"", "502 connection closed ...", false, true},
      {"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
       "502 protocol switched without being asked"},
      {interim + "HTTP/1.1 200 OK\r\n\r\n", "502 too many interim answers"},
      {"HTTP/1.1 600 Odd\r\nContent-Length: 0\r\n\r\n", "502 status out of range"},
      {"HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n", "502 status out of range"},
      {"HTTP/1.1 20 Odd\r\nContent-Length: 0\r\n\r\n", "502 ..."},
      {"HTTP/1.1 2000 Odd\r\nContent-Length: 0\r\n\r\n", "502 ..."},
      {"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n", "502 ..."},
      {"HTTP/0.9 200 OK\r\nContent-Length: 0\r\n\r\n", "502 ..."},
      {"ICY 200 OK\r\nContent-Length: 0\r\n\r\n", "502 ..."},
      {"\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "502 ..."},
      {"HTTP/1.1 200 OK\nContent-Length: 0\n\n", "502 ..."},
      {std::string("HTTP/1.1 200 O") + '\0' + "K\r\nContent-Length: 0\r\n\r\n", "502 ..."},
      {"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n", "502 ..."},
      {"HTTP/1.1 200 OK\r\nX : a\r\nContent-Length: 0\r\n\r\n", "502 ..."},
      {"HTTP/1.1 200 OK\r\nX: a\x01\r\nContent-Length: 0\r\n\r\n", "502 ..."},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "502 ..."},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "502 ..."},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "502 ..."},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "502 ..."},
      {"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "502 ..."},
      {"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n", "502 body too large"},
  });
}

TEST_CASE("a large length in an answer to HEAD is no body") {
  check_answers({{"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n",
                  "200 1.1 keep [content-length=9999999] body= rest=", true}});
}

TEST_CASE("the end of the connection behind a whole answer") {
  Response response;
  const MessageLimits limits;
  ResponseParser parser(response, limits);
  parser.reset(true);
  REQUIRE(parser.feed("HTTP/1.1 200 OK\r\n\r\n").state == ParseState::head_done);
  CHECK(parser.finish().state == ParseState::complete);
}

}  // namespace prophecy::http
