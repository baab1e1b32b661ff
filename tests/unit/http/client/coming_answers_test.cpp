// What answers may hold in memory while they come, and which of them gives way.
#include "http/client/coming_answers.hpp"

#include <array>
#include <optional>

#include "client/pool_world.hpp"

using namespace prophecy;
using namespace prophecy::http;
using namespace prophecy::test;

namespace {

const TimePoint kStart{seconds(1000)};

struct Answer final : ComingAnswers::Holder {
  explicit Answer(ComingAnswers& all) : share(&all, *this) {}
  void give_way() override { ++told; }
  int told = 0;
  ComingAnswers::Share share;
};

struct Budget {
  explicit Budget(std::size_t bytes_max) : all(bytes_max, held, given_way) {}
  Counter held, given_way;
  ComingAnswers all;
};

}  // namespace

TEST_CASE("Within the limit nothing gives way, and the gauge says what is held") {
  Budget budget(1000);
  Answer a(budget.all);
  {
    Answer b(budget.all);
    a.share.set(600, kStart);
    b.share.set(300, kStart);
    b.share.set(400, kStart);
    CHECK(budget.held.get() == 1000);
    CHECK(a.told + b.told == 0);
  }
  CHECK(budget.held.get() == 600);
  a.share.set(0, kStart);
  CHECK(budget.held.get() == 0);
  CHECK(budget.given_way.get() == 0);
}

TEST_CASE("Of which most was held for longest gives way, once") {
  Budget budget(1000);
  Answer stalled(budget.all), old_and_small(budget.all), large(budget.all);
  old_and_small.share.set(50, kStart);
  stalled.share.set(500, kStart + seconds(1));
  large.share.set(700, kStart + seconds(3));
  CHECK(stalled.told == 1);
  CHECK(old_and_small.told == 0);
  CHECK(large.told == 0);
  // It may take a moment: nothing else has to go for it.
  large.share.set(900, kStart + seconds(4));
  CHECK(large.told == 0);
  large.share.set(960, kStart + seconds(5));
  CHECK(large.told == 1);
  CHECK(stalled.told == 1);
  CHECK(budget.given_way.get() == 2);
  // Used again, it is a new one.
  large.share.set(0, kStart + seconds(6));
  stalled.share.set(0, kStart + seconds(6));
  large.share.set(900, kStart + seconds(6));
  CHECK(large.told == 1);
  old_and_small.share.set(150, kStart + seconds(6));
  CHECK(large.told + old_and_small.told == 2);
}

TEST_CASE("An answer that has stalled makes room for others, and its exchange ends as shed") {
  constexpr std::size_t kBody = 600'000;
  const std::string head =
      "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kBody) + "\r\n\r\n";
  Budget budget(1'000'000);
  boost::asio::io_context io{1};
  OriginTimeouts timeouts{TimeoutQueue(seconds(1)), TimeoutQueue(seconds(2)),
                          TimeoutQueue(seconds(3))};
  ScriptedOrigin origin(io, {Step{head}});
  OriginSettings settings = World::settings(origin.address(), 4, 4);
  settings.answer_limits.body_bytes_max = kBody;
  settings.coming = &budget.all;
  OriginPool pool(io, settings, timeouts);
  Call stalled(pool), whole(pool);
  stalled.start(true);
  REQUIRE(run_until(io, [&] { return budget.held.get() >= kBody; }));
  run_for(io, milliseconds(20));
  whole.start(true);
  REQUIRE(run_until(io, [&] { return !stalled.exchange.active(); }));
  CHECK(stalled.ends == Ends{ExchangeEnd::shed});
  REQUIRE(run_until(io, [&] { return origin.accepted == 2; }));
  for (std::size_t sent = 0; sent < kBody; sent += 50'000) {
    origin.send(1, std::string(50'000, 'x'));
    io.poll();
  }
  REQUIRE(run_until(io, [&] { return !whole.exchange.active(); }));
  CHECK(whole.ends == Ends{ExchangeEnd::answered});
  CHECK(whole.bodies.front().size() == kBody);
  CHECK(budget.held.get() == 0);
  CHECK(budget.given_way.get() == 1);
}

TEST_CASE("A body whose length is not declared counts as it grows") {
  Budget budget(400'000);
  boost::asio::io_context io{1};
  OriginTimeouts timeouts{TimeoutQueue(seconds(1)), TimeoutQueue(seconds(2)),
                          TimeoutQueue(seconds(3))};
  ScriptedOrigin origin(io, {Step{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"}});
  OriginSettings settings = World::settings(origin.address(), 4, 4);
  settings.answer_limits.body_bytes_max = 10'000'000;
  settings.coming = &budget.all;
  OriginPool pool(io, settings, timeouts);
  Call call(pool);
  call.start();
  REQUIRE(run_until(io, [&] { return origin.requests.size() == 1; }));
  for (int i = 0; i < 20 && call.exchange.active(); ++i) {
    origin.send(0, "10000\r\n" + std::string(0x10000, 'x') + "\r\n");
    run_for(io, milliseconds(2));
  }
  CHECK(run_until(io, [&] { return !call.exchange.active(); }));
  CHECK(call.ends == Ends{ExchangeEnd::shed});
  CHECK(budget.held.get() == 0);
}
