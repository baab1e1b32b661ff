// Answers whose length nobody knows before their end, over HTTP/1 and HTTP/2.
#include <catch2/catch.hpp>

#include "http2_session_world.hpp"
#include "sketcher/client/http/http1_session.hpp"

namespace prophecy::sketcher {
namespace {

using session_test::Handler;
using session_test::Http2World;
using session_test::World;
using Client = session_test::Client<Http1Session>;

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

std::string body_of(const std::string& answer) {
  return answer.substr(answer.find("\r\n\r\n") + 4);
}

}  // namespace

TEST_CASE("HTTP/1.1: an answer without a length comes in chunks, and the connection goes on") {
  World world;
  Client client(world);
  client.begin(kGet);
  Handler& handler = world.handler();
  handler.begin_large(sketch::kOpenEnded);
  const std::string head = client.take_all();
  CHECK(head.find("\r\ntransfer-encoding: chunked\r\n") != std::string::npos);
  CHECK(head.find("content-length") == std::string::npos);
  CHECK(handler.part_of_large("data: one\n\n"));
  CHECK(client.take_all() == "b\r\ndata: one\n\n\r\n");
  world.advance(std::chrono::hours(5));  // it is an origin that is waited for
  CHECK_FALSE(client.over());
  CHECK(handler.part_of_large(std::string(300, 'x')));
  CHECK(client.take_all() == "12c\r\n" + std::string(300, 'x') + "\r\n");
  SECTION("its end") {
    handler.end_large();
    CHECK(client.take_all() == "0\r\n\r\n");
    CHECK(client.idles());
    client.send(kGet);
    handler.answer("next");
    CHECK(body_of(client.take_all()) == "next");
  }
  SECTION("cut off") {
    handler.end_large(false);
    CHECK(client.take_all().empty());
    CHECK(client.closed);
  }
}

TEST_CASE("HTTP/1.1: chunks wait for a client that takes nothing, within its time") {
  World world;
  Client client(world, 600);
  client.begin(kGet);
  Handler& handler = world.handler();
  handler.begin_large(sketch::kOpenEnded);
  CHECK_FALSE(handler.part_of_large(std::string(2000, 'x')));
  CHECK(world.counters.untaken_bytes.get() > 0);
  SECTION("and goes on") {
    std::string all = client.take(600);
    CHECK(handler.writable == 0);
    all += client.take_all();
    CHECK(handler.writable == 1);
    CHECK(body_of(all) == "7d0\r\n" + std::string(2000, 'x') + "\r\n");
    CHECK(world.counters.untaken_bytes.get() == 0);
  }
  SECTION("the end comes behind them") {
    handler.end_large();
    std::string all;
    while (!client.idles())
      all += client.take(600);
    all += client.take_all();
    CHECK(body_of(all) == "7d0\r\n" + std::string(2000, 'x') + "\r\n0\r\n\r\n");
  }
  SECTION("too late") {
    world.advance(std::chrono::minutes(2));
    CHECK(client.closed);
    CHECK(world.timeouts() == 1);
  }
}

TEST_CASE("HTTP/1.0: an answer without a length ends with the connection") {
  World world;
  Client client(world);
  client.begin("GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n");
  Handler& handler = world.handler();
  handler.begin_large(sketch::kOpenEnded);
  CHECK(handler.part_of_large("one"));
  const std::string answer = client.take_all();
  CHECK(answer.find("transfer-encoding") == std::string::npos);
  CHECK(answer.find("\r\nconnection: close\r\n") != std::string::npos);
  CHECK(body_of(answer) == "one");
  handler.end_large();
  CHECK(client.finished);
}

TEST_CASE("HTTP/2: an answer without a length ends when it is said to, with or without bytes") {
  Http2World world;
  const std::int32_t stream = world.peer.get("/events");
  world.begin();
  Handler& handler = world.handler();
  REQUIRE(handler.may_begin_large(16 << 10));
  handler.begin_large(sketch::kOpenEnded);
  world.exchange();
  CHECK(world.peer.answers[stream].status == "200");
  CHECK_FALSE(handler.part_of_large("one"));
  world.exchange();
  CHECK(world.peer.answers[stream].body == "one");
  CHECK(handler.writable == 1);
  world.wait(std::chrono::hours(5));
  CHECK_FALSE(world.peer.answers[stream].over);
  CHECK_FALSE(handler.part_of_large("two"));
  SECTION("at once") {
    handler.end_large();
    world.exchange();
    CHECK(world.peer.answers[stream].body == "onetwo");
    CHECK(world.peer.answers[stream].over);
    CHECK(world.peer.answers[stream].error == 0);
  }
  SECTION("later") {
    world.exchange();
    handler.end_large();
    world.exchange();
    CHECK(world.peer.answers[stream].body == "onetwo");
    CHECK(world.peer.answers[stream].over);
    CHECK(world.peer.answers[stream].error == 0);
  }
  SECTION("cut off") {
    world.exchange();
    handler.end_large(false);
    world.exchange();
    CHECK(world.peer.answers[stream].error == NGHTTP2_INTERNAL_ERROR);
  }
}

TEST_CASE("HTTP/2: the end of an answer without a length waits for the client's window") {
  Http2World world(true);
  const std::int32_t stream = world.peer.get("/events");
  world.begin();
  Handler& handler = world.handler();
  REQUIRE(handler.may_begin_large(16 << 10));
  handler.begin_large(sketch::kOpenEnded);
  CHECK_FALSE(handler.part_of_large("abcdef"));
  handler.end_large();
  world.exchange();
  CHECK_FALSE(world.peer.answers[stream].over);
  world.peer.open_windows(stream, 6);
  world.exchange();
  CHECK(world.peer.answers[stream].body == "abcdef");
  CHECK(world.peer.answers[stream].over);
}

}  // namespace prophecy::sketcher
