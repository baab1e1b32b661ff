#include "http/authority.hpp"

#include <catch2/catch.hpp>

namespace prophecy::http {
namespace {

std::string normal(std::string_view authority, std::string_view scheme = "http") {
  std::string out = "left over";
  return normalize_authority(authority, scheme, out) ? out : "refused";
}

}  // namespace

TEST_CASE("authorities have one form") {
  CHECK(normal("Example.ORG") == "example.org");
  CHECK(normal("a:80") == "a");
  CHECK(normal("a:") == "a");
  CHECK(normal("a:443") == "a:443");
  CHECK(normal("a:443", "https") == "a");
  CHECK(normal("a:80", "https") == "a:80");
  CHECK(normal("127.0.0.1:8080") == "127.0.0.1:8080");
  CHECK(normal("[2001:DB8::1]") == "[2001:db8::1]");
  CHECK(normal("[::1]:80") == "[::1]");
  CHECK(normal("[::1]:81") == "[::1]:81");
  CHECK(normal("my_host-1.local~") == "my_host-1.local~");
  CHECK(normal("A.b.") == "a.b");
  CHECK(normal("a.b.:81") == "a.b:81");
  CHECK(normal("127.0.0.1.") == "127.0.0.1");
  CHECK(normal("[::FFFF:1.2.3.4]:81") == "[::ffff:1.2.3.4]:81");
}

TEST_CASE("authorities that are refused") {
  for (const char* authority :
       {"",           ":80",      "user@a",  "user:pw@a", "a b",    "a/b",    "a%41",
        "a,b",        "a:0",      "a:65536", "a:08",      "a:8a",   "a:-1",   "a:80:80",
        "::1",        "[::1",     "[]",      "[::1]x",    "[g::1]", "[1234]", "a:999999999999",
        ".",          "..",       ".a",      "a..b",      "a..",    "[:::]",  "[1::2::3]",
        "[::1%25lo]", "[1.2.3.4]"}) {
    INFO(authority);
    CHECK(normal(authority) == "refused");
  }
  CHECK(normal(std::string(256, 'a')) == "refused");
  CHECK(normal(std::string(255, 'a')) == std::string(255, 'a'));
}

TEST_CASE("targets are taken apart") {
  const TargetParts origin = split_target("/a?u=http://x/y");
  CHECK(origin.scheme.empty());
  CHECK(origin.authority.empty());
  CHECK(origin.path == "/a?u=http://x/y");

  const TargetParts absolute = split_target("http://Host:80/a?b");
  CHECK(absolute.scheme == "http");
  CHECK(absolute.authority == "Host:80");
  CHECK(absolute.path == "/a?b");

  CHECK(split_target("http://h").path.empty());
  CHECK(split_target("http://h?q").path == "?q");
  CHECK(split_target("http://h?q").authority == "h");
  CHECK(split_target("*").path == "*");
}

}  // namespace prophecy::http
