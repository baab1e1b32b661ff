#include "sketcher/health/origin_check.hpp"

#include <catch2/catch.hpp>

#include "base/io/timeout_ticker.hpp"
#include "support/event_loop.hpp"
#include "support/scripted_origin.hpp"

namespace prophecy::sketcher {
namespace {

using replica_client::CheckOutcome;
using test::answer;
using test::run_for;
using test::run_until;
using test::ScriptedOrigin;
using test::Step;

struct World {
  World() {
    settings.path = "/health";
    settings.rule = {.statuses = {{200, 299}}, .body = "fine"};
    settings.interval = milliseconds(20);
    ticker.start();
  }

  void start(const Endpoint& address) {
    http::OriginSettings origin;
    origin.address = address;
    check.emplace(
        io, settings, origin, timeouts, random, [this] { return wanted; },
        [this](CheckOutcome outcome, std::uint16_t status) {
          outcomes.push_back(outcome);
          statuses.push_back(status);
        });
    check->start();
  }
  CheckOutcome next() {
    const std::size_t before = outcomes.size();
    REQUIRE(run_until(io, [&] { return outcomes.size() > before; }));
    return outcomes.back();
  }

  boost::asio::io_context io{1};
  CheckSettings settings;
  http::OriginTimeouts timeouts{TimeoutQueue(milliseconds(100)), TimeoutQueue(milliseconds(100)),
                                TimeoutQueue(milliseconds(100))};
  TimeoutTicker ticker{io, milliseconds(5), {&timeouts.connect, &timeouts.answer, &timeouts.idle}};
  SecureRandom random;
  bool wanted = true;
  std::vector<CheckOutcome> outcomes;
  std::vector<std::uint16_t> statuses;
  std::optional<OriginCheck> check;
};

}  // namespace

TEST_CASE("A check asks on a connection of its own, and says what it found") {
  World world;
  ScriptedOrigin origin(world.io, {answer("all is fine"),
                                   answer("all is lost"),
                                   {"HTTP/1.1 503 No\r\nContent-Length: 4\r\n\r\nfine"},
                                   {"nonsense\r\n\r\n"},
                                   {"", true},
                                   answer("fine")});
  world.start(origin.address());
  CHECK(world.next() == CheckOutcome::passed);
  CHECK(world.statuses.back() == 200);
  CHECK(world.next() == CheckOutcome::wrong_body);
  CHECK(world.next() == CheckOutcome::wrong_status);
  CHECK(world.statuses.back() == 503);
  CHECK(world.next() == CheckOutcome::malformed);
  CHECK(world.statuses.back() == 0);
  CHECK(world.next() == CheckOutcome::broken);
  CHECK(world.next() == CheckOutcome::passed);
  CHECK(origin.accepted == 6);
  const std::string& request = origin.requests.front();
  CHECK(request.starts_with("GET /health HTTP/1.1\r\n"));
  CHECK(request.find("\r\nhost: " + to_string(origin.address()) + "\r\n") != std::string::npos);
  CHECK(request.find("\r\nconnection: close\r\n") != std::string::npos);
}

TEST_CASE("A check ends, whatever the origin does") {
  World world;
  SECTION("nothing listens") {
    world.start({"127.0.0.1", 1});
    CHECK(world.next() == CheckOutcome::no_connection);
  }
  SECTION("it does not answer") {
    ScriptedOrigin origin(world.io, {Step{}});
    world.start(origin.address());
    CHECK(world.next() == CheckOutcome::timed_out);
    CHECK(world.next() == CheckOutcome::timed_out);
  }
  SECTION("it answers without an end") {
    ScriptedOrigin origin(world.io, {answer(std::string(65537, 'x'))});
    world.start(origin.address());
    CHECK(world.next() == CheckOutcome::too_large);
  }
}

TEST_CASE("What is not wanted is not checked") {
  World world;
  ScriptedOrigin origin(world.io, {answer("fine")});
  world.wanted = false;
  world.start(origin.address());
  run_for(world.io, milliseconds(150));
  CHECK(origin.accepted == 0);
  world.wanted = true;
  CHECK(world.next() == CheckOutcome::passed);
}

}  // namespace prophecy::sketcher
