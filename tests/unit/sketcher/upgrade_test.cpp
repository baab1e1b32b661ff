#include "sketcher/core/policy/upgrade.hpp"

#include <vector>

#include <catch2/catch.hpp>

namespace prophecy::sketcher {
namespace {

http::Request asking_for(const std::vector<std::string_view>& upgrades,
                         std::string_view connection = "Upgrade") {
  http::Request request;
  request.method = "GET";
  request.fields.add("connection", connection);
  for (const std::string_view upgrade : upgrades)
    request.fields.add("upgrade", upgrade);
  return request;
}

std::string chosen(const http::Request& request,
                   const std::vector<std::string>& allowed = {"websocket"}) {
  return std::string(requested_upgrade(request, allowed));
}

}  // namespace

TEST_CASE("a listed protocol passes in any version, whatever its letters") {
  CHECK(chosen(asking_for({"websocket"})) == "websocket");
  CHECK(chosen(asking_for({"WebSocket"})) == "WebSocket");
  CHECK(chosen(asking_for({"websocket/13"})) == "websocket/13");
  CHECK(chosen(asking_for({"websocket"}), {"a", "WEBSOCKET"}) == "websocket");
}

TEST_CASE("a protocol that is listed with a version passes in no other") {
  const std::vector<std::string> allowed = {"chat/2"};
  CHECK(chosen(asking_for({"Chat/2"}), allowed) == "Chat/2");
  CHECK(chosen(asking_for({"chat/3"}), allowed).empty());
  CHECK(chosen(asking_for({"chat"}), allowed).empty());
  CHECK(chosen(asking_for({"chat/3, chat/2"}), allowed) == "chat/2");
}

TEST_CASE("of several protocols, the first listed one passes, alone") {
  CHECK(chosen(asking_for({"h2c, websocket, other"})) == "websocket");
  CHECK(chosen(asking_for({"h2c", "other, websocket"})) == "websocket");
  CHECK(chosen(asking_for({"b, a"}), {"a", "b"}) == "b");
}

TEST_CASE("a protocol that is not listed does not pass") {
  for (const std::string_view upgrade :
       {"h2c", "TLS/1.0", "echo", "web", "websockets", "websocket2", "", ",", "\"websocket\"",
        "websocket /13", "websocket/", "websocket/1/2", "websocket/1 3", "/websocket"}) {
    CAPTURE(upgrade);
    CHECK(chosen(asking_for({upgrade})).empty());
  }
  CHECK(chosen(asking_for({"websocket"}), {}).empty());
}

TEST_CASE("no change of protocol but by a GET of HTTP/1.1 whose Connection names Upgrade") {
  http::Request request = asking_for({"websocket"});
  request.method = "POST";
  CHECK(chosen(request).empty());
  request = asking_for({"websocket"});
  request.version_minor = 0;
  CHECK(chosen(request).empty());
  CHECK(chosen(asking_for({"websocket"}, "keep-alive")).empty());
  CHECK(chosen(asking_for({})).empty());
}

TEST_CASE("protocols that carry requests, or hide them, may never pass") {
  for (const std::string_view protocol : {"h2c", "H2C", "h2", "h3", "HTTP/2.0", "http", "TLS/1.0",
                                          "tls", "h2c/1", "HTTP2-Settings"}) {
    CAPTURE(protocol);
    CHECK(is_protocol(protocol));
    CHECK(may_never_pass(protocol));
  }
  CHECK_FALSE(may_never_pass("websocket"));
  CHECK_FALSE(may_never_pass("h2c-like"));
}

TEST_CASE("a protocol is a token, or two of them with a slash") {
  CHECK(is_protocol("a"));
  CHECK(is_protocol("a/1.0"));
  for (const std::string_view text : {"", "/", "a/", "/1", "a b", "a/1/2", "a,b", "a/\"1\""}) {
    CAPTURE(text);
    CHECK_FALSE(is_protocol(text));
  }
}

}  // namespace prophecy::sketcher
