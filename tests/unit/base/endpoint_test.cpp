#include "base/endpoint.hpp"

#include <catch2/catch.hpp>

namespace prophecy {

TEST_CASE("endpoints, there and back") {
  for (const char* text : {"127.0.0.1:8080", "0.0.0.0:0", "[::1]:65535", "[2001:db8::1]:80"}) {
    INFO(text);
    const auto endpoint = parse_endpoint(text);
    REQUIRE(endpoint.has_value());
    CHECK(to_string(*endpoint) == text);
  }
  CHECK(*parse_endpoint("[::1]:80") == Endpoint{"::1", 80});
  CHECK(*parse_endpoint("[0:0::0001]:080") == Endpoint{"::1", 80});
}

TEST_CASE("what is not an endpoint") {
  for (const char* text :
       {"", ":", "127.0.0.1", "127.0.0.1:", ":80", "127.0.0.1:65536", "127.0.0.1:-1",
        "127.0.0.1:8o", "127.0.0.1: 80", "localhost:80", "::1:80", "[::1]", "[127.0.0.1]:80",
        "[::1:80", "256.0.0.1:80", "127.0.0.1:80 ", "[]:80", "1.2.3:80"}) {
    INFO(text);
    const auto endpoint = parse_endpoint(text);
    REQUIRE_FALSE(endpoint.has_value());
    CHECK(endpoint.error().kind == ErrorKind::invalid);
  }
}

}  // namespace prophecy
