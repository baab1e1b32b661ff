#include "http/proxy_header.hpp"

#include <catch2/catch.hpp>

namespace prophecy::http {
namespace {

using namespace std::string_literals;

const std::string kSignature = "\r\n\r\n\0\r\nQUIT\n"s;

// Version 2: the command's byte, the family's, and what follows with its length in front.
std::string v2(int command, int family, const std::string& rest, int size = -1) {
  const auto length = size < 0 ? rest.size() : static_cast<std::size_t>(size);
  return kSignature + static_cast<char>(command) + static_cast<char>(family) +
         static_cast<char>(length >> 8) + static_cast<char>(length & 0xff) + rest;
}

// "SOURCE:PORT > DESTINATION:PORT", "own ends", "more" or "failed", and what is left of the input.
std::string outcome(std::string_view input, std::size_t piece_size) {
  ProxyHeaderParser parser;
  std::size_t consumed = 0;
  ParseState state = ParseState::need_more;
  while (state == ParseState::need_more && consumed < input.size()) {
    const ParseProgress progress = parser.feed(input.substr(consumed, piece_size));
    state = progress.state;
    consumed += progress.consumed;
  }
  if (state == ParseState::need_more) return "more";
  if (state == ParseState::failed) {
    CHECK_FALSE(parser.failure().empty());
    CHECK(parser.feed("x").state == ParseState::failed);
    return "failed";
  }
  const std::string rest = " rest=" + std::string(input.substr(consumed));
  const auto& connection = parser.connection();
  if (!connection) return "own ends" + rest;
  return connection->source.to_string() + ":" + std::to_string(connection->source_port) + " > " +
         connection->destination.to_string() + ":" + std::to_string(connection->destination_port) +
         rest;
}

void check(const std::string& input, const std::string& expected) {
  INFO(input);
  CHECK(outcome(input, input.size()) == expected);
  CHECK(outcome(input, 1) == expected);
  CHECK(outcome(input, 7) == expected);
}

const std::string kV4Addresses = "\xc0\x00\x02\x01\x0a\x00\x00\x02\xc3\x50\x01\xbb"s;
const std::string kV6Addresses =
    "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x02"
    "\x00\x01\xff\xff"s;

}  // namespace

TEST_CASE("lines of version 1") {
  check("PROXY TCP4 192.0.2.1 10.0.0.2 50000 443\r\nGET",
        "192.0.2.1:50000 > 10.0.0.2:443 rest=GET");
  check("PROXY TCP6 2001:db8::1 ::1 0 65535\r\n", "2001:db8::1:0 > ::1:65535 rest=");
  check("PROXY TCP6 ::ffff:1.2.3.4 ::1 1 2\r\n", "1.2.3.4:1 > ::1:2 rest=");
  check("PROXY UNKNOWN\r\nx", "own ends rest=x");
  check("PROXY UNKNOWN ff:: whatever 1 2 3\r\n\r\n", "own ends rest=\r\n");
  const std::string longest =
      "PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
      "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n";
  REQUIRE(longest.size() == 107);
  check(longest, "own ends rest=");
  check("PROXY TCP4 192.0.2.1 10.0.0.2 50000 443\r", "more");
  check("PROX", "more");
}

TEST_CASE("lines that are refused") {
  for (const char* line : {"GET / HTTP/1.1\r\n",
                           "proxy TCP4 1.1.1.1 2.2.2.2 1 2\r\n",
                           "PROXY\r\n",
                           "PROXY \r\n",
                           "PROXY TCP4\r\n",
                           "PROXY TCP4 1.1.1.1 2.2.2.2 1\r\n",
                           "PROXY TCP4 1.1.1.1 2.2.2.2 1 2 3\r\n",
                           "PROXY TCP4 1.1.1.1 2.2.2.2 1 2 \r\n",
                           "PROXY TCP4  1.1.1.1 2.2.2.2 1 2\r\n",
                           "PROXY TCP4 1.1.1.1 2.2.2.2 01 2\r\n",
                           "PROXY TCP4 1.1.1.1 2.2.2.2 65536 2\r\n",
                           "PROXY TCP4 1.1.1.1 2.2.2.2 -1 2\r\n",
                           "PROXY TCP4 1.1.1.1 2.2.2.2 1 2x\r\n",
                           "PROXY TCP4 1.1.1.256 2.2.2.2 1 2\r\n",
                           "PROXY TCP4 1.1.1.01 2.2.2.2 1 2\r\n",
                           "PROXY TCP4 ::1 ::1 1 2\r\n",
                           "PROXY TCP6 1.1.1.1 2.2.2.2 1 2\r\n",
                           "PROXY TCP6 ::1%lo ::1 1 2\r\n",
                           "PROXY UDP4 1.1.1.1 2.2.2.2 1 2\r\n",
                           "PROXY TCP4 1.1.1.1 2.2.2.2 1 2\n",
                           "PROXY TCP4 1.1.1.1\r 2.2.2.2 1 2\r\n",
                           "PROXY UNKNOWNX\r\n",
                           "PROXY UNKNOWN\n",
                           "PROXY UNKNOWN a\rb\r\n",
                           "PROXY\tTCP4 1.1.1.1 2.2.2.2 1 2\r\n",
                           " PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\n"}) {
    check(line, "failed");
  }
  check("PROXY TCP4 1.1.1.1\0 2.2.2.2 1 2\r\n"s, "failed");
  check("PROXY UNKNOWN " + std::string(93, 'x'), "failed");
}

TEST_CASE("headers of version 2") {
  check(v2(0x21, 0x11, kV4Addresses) + "GET", "192.0.2.1:50000 > 10.0.0.2:443 rest=GET");
  check(v2(0x21, 0x21, kV6Addresses), "2001:db8::1:1 > 2001:db8::2:65535 rest=");
  check(v2(0x21, 0x11, kV4Addresses + "\x03\x00\x04"s + "abcd") + "G",
        "192.0.2.1:50000 > 10.0.0.2:443 rest=G");
  check(v2(0x20, 0x00, "") + "G", "own ends rest=G");
  check(v2(0x20, 0x11, kV4Addresses) + "G", "own ends rest=G");
  check(v2(0x20, 0xff, "junk") + "G", "own ends rest=G");
  check(v2(0x21, 0x00, "") + "G", "own ends rest=G");
  check(v2(0x21, 0x00, "junk") + "G", "own ends rest=G");
  check(v2(0x21, 0x31, std::string(216, 'u')) + "G", "own ends rest=G");
  check(v2(0x21, 0x11, kV4Addresses + std::string(4096 - 16 - 12, 't')) + "G",
        "192.0.2.1:50000 > 10.0.0.2:443 rest=G");
  check(v2(0x21, 0x11, kV4Addresses, 13), "more");
}

TEST_CASE("headers of version 2 that are refused") {
  check(v2(0x11, 0x11, kV4Addresses), "failed");  // version
  check(v2(0x31, 0x11, kV4Addresses), "failed");
  check(v2(0x22, 0x11, kV4Addresses), "failed");  // command
  check(v2(0x21, 0x12, kV4Addresses), "failed");  // datagrams
  check(v2(0x21, 0x22, kV6Addresses), "failed");
  check(v2(0x21, 0x41, kV6Addresses), "failed");  // family
  check(v2(0x21, 0x10, kV4Addresses), "failed");
  check(v2(0x21, 0x11, kV4Addresses, 11), "failed");  // shorter than addresses
  check(v2(0x21, 0x21, kV6Addresses, 35), "failed");
  check(v2(0x21, 0x31, std::string(215, 'u')), "failed");
  check(v2(0x21, 0x11, kV4Addresses + std::string(4096 - 16 - 11, 't')), "failed");
  check(v2(0x20, 0x00, std::string(65535, 't')), "failed");
  check("\r\n\r\n\0\r\nQUIT\r!"s, "failed");
  check("\r\nGET / HTTP/1.1\r\n", "failed");
}

TEST_CASE("what is written reads back") {
  const auto address = [](const char* text) { return *IpAddress::parse(text); };
  for (const ProxiedConnection& connection :
       {ProxiedConnection{address("192.0.2.1"), address("10.0.0.2"), 50000, 443},
        ProxiedConnection{address("2001:db8::1"), address("::1"), 0, 65535},
        ProxiedConnection{address("192.0.2.1"), address("::1"), 1, 2}}) {
    std::string line;
    append_proxy_header_v1(line, connection);
    std::string binary;
    append_proxy_header_v2(binary, connection);
    for (const std::string& text : {line, binary}) {
      ProxyHeaderParser parser;
      const ParseProgress progress = parser.feed(text);
      CHECK(progress.state == ParseState::complete);
      CHECK(progress.consumed == text.size());
      CHECK(parser.connection() == connection);
    }
  }
  std::string line;
  append_proxy_header_v1(line, {address("192.0.2.1"), address("10.0.0.2"), 50000, 443});
  CHECK(line == "PROXY TCP4 192.0.2.1 10.0.0.2 50000 443\r\n");
  std::string binary;
  append_proxy_header_v2(binary, {address("192.0.2.1"), address("10.0.0.2"), 50000, 443});
  CHECK(binary == v2(0x21, 0x11, kV4Addresses));
}

}  // namespace prophecy::http
