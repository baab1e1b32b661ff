#include <catch2/catch.hpp>

#include "feeding.hpp"
#include "http/parser.hpp"

namespace prophecy::http {
namespace {

using namespace std::string_literals;

struct RequestCase {
  std::string input;
  std::string outcome;  // a prefix of it, when it ends in "..."
};

MessageLimits small_limits() {
  MessageLimits limits;
  limits.target_bytes_max = 32;
  limits.header_bytes_max = 96;
  limits.header_count_max = 4;
  limits.body_bytes_max = 16;
  return limits;
}

// Every case whole, byte by byte, and in a few sizes between.
void check_requests(const std::vector<RequestCase>& cases, const MessageLimits& limits) {
  for (const RequestCase& c : cases) {
    const std::string whole = request_outcome(c.input, c.input.size(), limits);
    INFO("input: " << c.input);
    if (c.outcome.ends_with("...")) {
      CHECK(whole.substr(0, c.outcome.size() - 3) == c.outcome.substr(0, c.outcome.size() - 3));
    } else {
      CHECK(whole == c.outcome);
    }
    for (const std::size_t piece_size : {1u, 2u, 3u, 7u, 64u}) {
      CHECK(request_outcome(c.input, piece_size, limits) == whole);
    }
  }
}

// A request whose head has this in place of its second line.
std::string with(const std::string& lines) {
  return "GET / HTTP/1.1\r\nHost: a\r\n" + lines;
}

}  // namespace

TEST_CASE("requests that are accepted") {
  check_requests(
      {
          {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / 1.1 keep [host=a] body= rest="},
          {"GET / HTTP/1.0\r\nHost: a\r\n\r\n", "GET / 1.0 close [host=a] body= rest="},
          {"GET / HTTP/1.0\r\nHost: a\r\nConnection: Keep-Alive\r\n\r\n",
           "GET / 1.0 keep [host=a][connection=Keep-Alive] body= rest="},
          {"GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n",
           "GET / 1.1 close [host=a][connection=x, Close] body= rest="},
          {"\r\n\r\nGET /x?y=%20&z HTTP/1.1\r\nHost: a\r\n\r\n",
           "GET /x?y=%20&z 1.1 keep [host=a] body= rest="},
          {"GET http://A:80/x HTTP/1.1\r\nHost: a\r\n\r\n",
           "GET http://A:80/x 1.1 keep [host=a] body= rest="},
          {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * 1.1 keep [host=a] body= rest="},
          {"M-SEARCH / HTTP/1.1\r\nHost: a\r\n\r\n", "M-SEARCH / 1.1 keep [host=a] body= rest="},
          {with("X-A: \t v w \t\r\nx-b:\r\n\r\n"),
           "GET / 1.1 keep [host=a][x-a=v w][x-b=] body= rest="},
          {with("X: caf\xc3\xa9\r\n\r\n"), "GET / 1.1 keep [host=a][x=caf\xc3\xa9] body= rest="},
          {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET",
           "POST / 1.1 keep [host=a][content-length=3] body=abc rest=GET"},
          {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"
           "3;x=\"y\"\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: v\r\n\r\nGET",
           "POST / 1.1 keep [host=a][transfer-encoding=Chunked] body=abc0123456789 rest=GET"},
          {"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\n",
           "GET / 1.1 keep [host=a] body= rest=GET /2 HTTP/1.1\r\n"},
          // Upgrade is an ordinary field, and the bytes behind the head stay with the caller.
          {with("Connection: Upgrade\r\nUpgrade: websocket\r\n\r\nxyz"),
           "GET / 1.1 keep [host=a][connection=Upgrade][upgrade=websocket] body= rest=xyz"},
          {"POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
           "Content-Length: 2\r\n\r\nabxyz",
           "POST / 1.1 keep [host=a][connection=Upgrade][upgrade=h2c][content-length=2] body=ab "
           "rest=xyz"},
      },
      MessageLimits{});
}

TEST_CASE("start lines that are refused") {
  check_requests(
      {
          {"GET / HTTP/1.1\nHost: a\n\n", "400 ..."},
          {"GET / HTTP/1.1\rHost: a\r\n\r\n", "400 ..."},
          {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "400 more than one space in the start line"},
          {"GET /  HTTP/1.1\r\nHost: a\r\n\r\n", "400 more than one space in the start line"},
          {"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", "400 ..."},
          {" GET / HTTP/1.1\r\nHost: a\r\n\r\n", "400 not a method"},
          {"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 ..."},
          {"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400 bare LF before the request line"},
          {"\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400 bare CR before the request line"},
          {"\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
           "400 too many empty lines before the request line"},
          {"GET / HTTP/0.9\r\nHost: a\r\n\r\n", "505 ..."},
          {"GET / HTTP/1.2\r\nHost: a\r\n\r\n", "505 ..."},
          {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", "505 ..."},
          {"GET / HTTP/9.9\r\nHost: a\r\n\r\n", "505 ..."},
          {"GET /\r\nHost: a\r\n\r\n", "505 ..."},
          {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 ..."},
          {"GET / ICE/1.0\r\nHost: a\r\n\r\n", "400 ..."},
          {"SOURCE / ICE/1.0\r\nHost: a\r\n\r\n", "400 not HTTP"},
          {"DESCRIBE / RTSP/1.0\r\nHost: a\r\n\r\n", "400 not HTTP"},
          {"GET / http/1.1\r\nHost: a\r\n\r\n", "400 ..."},
          {"get / HTTP/1.1\r\nHost: a\r\n\r\n", "501 method not known"},
          {"FROB / HTTP/1.1\r\nHost: a\r\n\r\n", "501 method not known"},
          {std::string(5000, 'A') + " / HTTP/1.1\r\n", "501 method not known"},
          {"\x16\x03\x01\x02", "400 not a method"},
          {"\0GET / HTTP/1.1\r\n"s, "400 not a method"},
          {"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", "501 CONNECT is not supported"},
          {"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", "400 invalid character in the target"},
          {"GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n", "400 ..."},
          {"GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n", "400 ..."},
          {"GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n", "400 ..."},
          {"GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", "400 ..."},
          {"GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n"s, "400 ..."},
          {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", "400 target of an unknown form"},
          {"GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 target of an unknown form"},
          {"GET http:// HTTP/1.1\r\nHost: a\r\n\r\n", "400 ..."},
          {"GET a/b HTTP/1.1\r\nHost: a\r\n\r\n", "400 ..."},
      },
      MessageLimits{});
}

TEST_CASE("fields that are refused") {
  check_requests(
      {
          {"GET / HTTP/1.1\r\n\r\n", "400 Host is missing"},
          {with("Host: a\r\n\r\n"), "400 Host is repeated"},
          {with("X : v\r\n\r\n"), "400 ..."},
          {with("X\t: v\r\n\r\n"), "400 ..."},
          {with(" X: v\r\n\r\n"), "400 ..."},
          {"GET / HTTP/1.1\r\n Host: a\r\n\r\n", "400 ..."},
          {with("X: v\r\n w\r\n\r\n"), "400 ..."},
          {with("X: v\r\n\tw\r\n\r\n"), "400 ..."},
          {with("X:\r\n w\r\n\r\n"), "400 ..."},
          {with(": v\r\n\r\n"), "400 ..."},
          {with("X\r\n\r\n"), "400 ..."},
          {with("X(: v\r\n\r\n"), "400 ..."},
          {with("X\x80: v\r\n\r\n"), "400 ..."},
          {with("X: a\0b\r\n\r\n"s), "400 ..."},
          {with("X: a\x01\r\n\r\n"), "400 ..."},
          {with("X: a\x7f\r\n\r\n"), "400 ..."},
          {with("X: a\rb\r\n\r\n"), "400 ..."},
          {with("X: a\nY: b\r\n\r\n"), "400 ..."},
          {with("X: a\r\r\n\r\n"), "400 ..."},
          {with("X: a\r\n\n"), "400 ..."},
          {with("X: a\r\n\rb"), "400 ..."},
          {with("Connection : close\r\n\r\n"), "400 ..."},
          {with("Connection: clo\x01se\r\n\r\n"), "400 ..."},
          {with("Expect: magic\r\nContent-Length: 1\r\n\r\n"), "417 unknown expectation"},
      },
      MessageLimits{});
}

TEST_CASE("framing in doubt is refused") {
  const auto post = [](const std::string& rest) { return "POST / HTTP/1.1\r\nHost: a\r\n" + rest; };
  const auto chunked = [&](const std::string& rest) {
    return post("Transfer-Encoding: chunked\r\n\r\n" + rest);
  };
  check_requests(
      {
          {post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"), "400 ..."},
          {post("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n"), "400 ..."},
          {post("Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"), "400 ..."},
          {post("Content-Length: 3, 3\r\n\r\nabc"), "400 ..."},
          {post("Content-Length: +3\r\n\r\nabc"), "400 ..."},
          {post("Content-Length: -3\r\n\r\nabc"), "400 ..."},
          {post("Content-Length: 0x3\r\n\r\nabc"), "400 ..."},
          {post("Content-Length: 3 3\r\n\r\nabc"), "400 ..."},
          {post("Content-Length:\r\n\r\nabc"), "400 ..."},
          {post("Content-Length: 99999999999999999999\r\n\r\n"), "400 ..."},
          {post("Content-Length : 3\r\n\r\nabc"), "400 ..."},
          {post("Transfer-Encoding: gzip, chunked\r\n\r\n"), "501 ..."},
          {post("Transfer-Encoding: chunked, gzip\r\n\r\n"), "501 ..."},
          {post("Transfer-Encoding: chunked, chunked\r\n\r\n"), "501 ..."},
          {post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"), "501 ..."},
          {post("Transfer-Encoding: identity\r\n\r\n"), "501 ..."},
          {post("Transfer-Encoding: xchunked\r\n\r\n"), "501 ..."},
          {post("Transfer-Encoding: \"chunked\"\r\n\r\n"), "501 ..."},
          {post("Transfer-Encoding:\r\n\r\n"), "501 ..."},
          {"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
           "400 Transfer-Encoding in HTTP/1.0"},
          {chunked("\r\n"), "400 chunk without a size"},
          {chunked("g\r\n"), "400 chunk without a size"},
          {chunked("0x3\r\nabc\r\n"), "400 invalid chunk size"},
          {chunked("-3\r\nabc\r\n"), "400 chunk without a size"},
          {chunked("3 \r\nabc\r\n"), "400 invalid chunk size"},
          {chunked("3\nabc\r\n"), "400 invalid chunk size"},
          {chunked("3\rabc\r\n"), "400 bare CR in a chunk's head"},
          {chunked("3\r\nabcd\r\n"), "400 chunk longer than its size"},
          {chunked("3\r\nabc\r0"), "400 bare CR behind a chunk"},
          {chunked("000000003\r\nabc\r\n"), "400 chunk size has too many digits"},
          {chunked("fffffffff\r\n"), "413 body too large"},
          {chunked("ffffffffffffffff1\r\n"), "413 body too large"},
          {chunked("3;a\nb\r\n"), "400 control byte in a chunk extension or trailer"},
          {chunked("3;" + std::string(5000, 'a') + "\r\nabc\r\n"),
           "400 chunk extensions or trailers too long"},
          {chunked("0\r\nT: " + std::string(5000, 'a') + "\r\n\r\n"),
           "400 chunk extensions or trailers too long"},
          {chunked("0\r\nT: a\nU: b\r\n\r\n"), "400 control byte in a chunk extension or trailer"},
          {chunked("0\r\n folded\r\n\r\n"), "400 folded trailer"},
          {chunked("3;\r\n"), "400 invalid chunk extension"},
          {chunked("3;\"\r\n"), "400 invalid chunk extension"},
          {chunked("3;;a\r\n"), "400 invalid chunk extension"},
          {chunked("3;=a\r\n"), "400 invalid chunk extension"},
          {chunked("3;a=\r\n"), "400 invalid chunk extension"},
          {chunked("3;a=;b\r\n"), "400 invalid chunk extension"},
          {chunked("3;a b\r\n"), "400 invalid chunk extension"},
          {chunked("3;a=b c\r\n"), "400 invalid chunk extension"},
          {chunked("3;a \r\n"), "400 invalid chunk extension"},
          {chunked("3;a=b \r\n"), "400 invalid chunk extension"},
          {chunked("3;a=\"b\r\n"), "400 invalid chunk extension"},
          {chunked("3;a=\"b\\\"\r\n"), "400 invalid chunk extension"},
          {chunked("3;a=\"b\"c\r\n"), "400 invalid chunk extension"},
          {chunked("3;a=b\"c\"\r\n"), "400 invalid chunk extension"},
          {chunked("3;a\x80\r\n"), "400 invalid chunk extension"},
          {chunked("3;a=\x80\r\n"), "400 invalid chunk extension"},
          {chunked("3;a=\"\x7f\"\r\n"), "400 control byte in a chunk extension or trailer"},
          {chunked("0\r\nnoColon\r\n\r\n"), "400 invalid trailer"},
          {chunked("0\r\n: y\r\n\r\n"), "400 invalid trailer"},
          {chunked("0\r\nX : y\r\n\r\n"), "400 invalid trailer"},
          {chunked("0\r\nX Y: y\r\n\r\n"), "400 invalid trailer"},
          {chunked("0\r\nX\x80: y\r\n\r\n"), "400 invalid trailer"},
          {chunked("0\r\n\x80: y\r\n\r\n"), "400 invalid trailer"},
          {chunked("0\r\nX(: y\r\n\r\n"), "400 invalid trailer"},
          {chunked("3;a\r\nabc\r\n0; a = b ; c\t=\t\"d\\\"\x80 ;,\" ;e=\"\"\r\n"), "more body"},
          {chunked("3;a=b;c=\"\";d;e=f\r\nabc\r\n0\r\nX:\r\nY: \x80 \t\r\n"), "more body"},
          {chunked("0\r\nT: a\r\r\n"), "400 bare CR in a trailer"},
          {chunked("0\r\n\rx"), "400 bare CR behind the last chunk"},
          {chunked("3\r\nab"), "more body"},
          {chunked("0\r\n"), "more body"},
      },
      MessageLimits{});
}

TEST_CASE("limits of requests") {
  const std::string pad(200, 'p');
  check_requests(
      {
          {"GET /" + pad + " HTTP/1.1\r\n", "414 target too long"},
          {"GET /" + std::string(31, 'p') + " HTTP/1.1\r\nHost: a\r\n\r\n", "GET /ppp..."},
          {"GET /" + std::string(32, 'p') + " HTTP/1.1\r\nHost: a\r\n\r\n", "414 target too long"},
          {with("X: " + pad + "\r\n\r\n"), "431 fields too large"},
          {with(pad + ": x\r\n\r\n"), "431 fields too large"},
          {with("A: 1\r\nB: 2\r\nC: 3\r\n\r\n"), "GET / 1.1 ..."},
          {with("A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\n\r\n"), "431 too many fields"},
          {with("X:" + std::string(1000, ' ') + "v\r\n\r\n"), "431 ..."},
          {"GET " + std::string(1000, ' '), "431 head too large"},
          {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 17\r\n\r\n", "413 body too large"},
          {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 16\r\n\r\n0123456789abcdef",
           "POST / 1.1 ..."},
          {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n01234567\r\n9\r\n",
           "413 body too large"},
      },
      small_limits());
}

TEST_CASE("pipelined requests come one by one") {
  const std::string one = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string two = "POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi";
  const std::string input = one + two + one;
  Request request;
  const MessageLimits limits;
  RequestParser parser(request, limits);
  std::string_view rest = input;
  for (const std::string& expected : {"/1"s, "/2"s, "/1"s}) {
    CHECK(parser.idle());
    ParseProgress progress = parser.feed(rest);
    REQUIRE(progress.state == ParseState::head_done);
    CHECK_FALSE(parser.idle());
    rest.remove_prefix(progress.consumed);
    progress = parser.feed(rest);
    REQUIRE(progress.state == ParseState::complete);
    rest.remove_prefix(progress.consumed);
    CHECK(request.target == expected);
    CHECK(request.body == (expected == "/2" ? "hi" : ""));
    parser.reset();
  }
  CHECK(rest.empty());
  CHECK(parser.idle());
}

TEST_CASE("the limit is for all of a body, whatever the caller has taken out of it") {
  Request request;
  MessageLimits limits;
  limits.body_bytes_max = 20;
  RequestParser parser(request, limits);
  const std::string head = "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  REQUIRE(parser.feed(head).state == ParseState::head_done);
  CHECK(parser.plain_bytes_left() == 0);
  REQUIRE(parser.feed("a\r\n0123456789\r\n").state == ParseState::need_more);
  request.body.clear();
  REQUIRE(parser.feed("a\r\n0123456789\r\n").state == ParseState::need_more);
  request.body.clear();
  REQUIRE(parser.feed("1\r\n").state == ParseState::failed);
  CHECK(parser.failure().status == 413);
}

TEST_CASE("who waits for 100 Continue") {
  const auto waits = [](const std::string& head) {
    Request request;
    const MessageLimits limits;
    RequestParser parser(request, limits);
    REQUIRE(parser.feed(head).state == ParseState::head_done);
    return parser.expects_continue();
  };
  CHECK(waits("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n"));
  CHECK_FALSE(waits("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n"));
  CHECK_FALSE(waits("GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n"));
  CHECK_FALSE(
      waits("PUT / HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"));
}

TEST_CASE("a failed parser stays failed until it is reset") {
  Request request;
  const MessageLimits limits;
  RequestParser parser(request, limits);
  CHECK(parser.feed("GET / HTTP/3.0\r\n").state == ParseState::failed);
  CHECK(parser.feed("GET / HTTP/1.1\r\nHost: a\r\n\r\n").state == ParseState::failed);
  parser.reset();
  CHECK(parser.feed("GET / HTTP/1.1\r\nHost: a\r\n\r\n").state == ParseState::head_done);
}

}  // namespace prophecy::http
