// A pool, the scripted origin that it talks to, and calls to it that note how they end.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "http/client/origin_pool.hpp"
#include "http/pipeline/origin_pace.hpp"
#include "support/event_loop.hpp"
#include "support/scripted_origin.hpp"

namespace prophecy::test {

using http::ExchangeEnd;
using http::ExchangeRequest;
using http::OriginExchange;
using http::OriginPool;
using http::OriginSettings;

inline const std::string kRequest = "GET /a HTTP/1.1\r\nhost: x\r\n\r\n";
inline const Step kHangUp{"", true};
inline const Step kSilence{"", false};
using Ends = std::vector<ExchangeEnd>;

class Call final : http::OriginHandler {
 public:
  explicit Call(OriginPool& pool) : pool_(pool) {}

  void start(bool fresh_connection = false, bool repeat_when_stale = false,
             std::string_view wire = kRequest) {
    pool_.start(exchange, {.wire = wire,
                           .fresh_connection = fresh_connection,
                           .repeat_when_stale = repeat_when_stale});
  }
  // All targets here have one path, and so one pace.
  void start_pipelined(const std::string& target) {
    wire_ = "GET /?" + target.substr(1) + " HTTP/1.1\r\nhost: x\r\n\r\n";
    pool_.start(exchange,
                {.wire = wire_, .repeat_when_stale = true, .verified = true, .pipelined = true});
  }

  OriginExchange exchange{*this};
  Ends ends;
  std::vector<std::string> bodies;
  std::function<void()> then = [] {};

 private:
  void on_exchange_end(OriginExchange&, ExchangeEnd end, http::Response& response) override {
    ends.push_back(end);
    if (end == ExchangeEnd::answered) bodies.push_back(response.body);
    then();
  }

  OriginPool& pool_;
  std::string wire_;
};

struct World {
  explicit World(std::deque<Step> script, std::size_t connections_max = 4,
                 std::size_t queue_max = 10, std::size_t pipeline_max = 1)
      : origin(io, std::move(script)),
        pool(io, settings(origin.address(), connections_max, queue_max, pipeline_max), timeouts) {}

  static OriginSettings settings(const Endpoint& origin, std::size_t connections_max,
                                 std::size_t queue_max, std::size_t pipeline_max = 1) {
    OriginSettings made;
    made.address = origin;
    made.connections_max = connections_max;
    made.queue_max = queue_max;
    made.pipeline_max = pipeline_max;
    made.answer_limits.body_bytes_max = 1000;
    return made;
  }

  Ends run(Call& call) {
    REQUIRE(run_until(io, [&] { return !call.exchange.active(); }));
    return std::exchange(call.ends, {});
  }
  // A whole exchange that goes well shows that the pool is usable.
  std::string ask() {
    Call call(pool);
    call.start();
    REQUIRE(run(call) == Ends{ExchangeEnd::answered});
    return call.bodies.front();
  }
  // From here on the origin is known to answer quickly, reads behind others as well: so many steps
  // of its script.
  static constexpr std::size_t kLearned = 4 * std::size_t{http::OriginPace::kKnownAnswers};
  void learn() {
    for (std::size_t i = 0; i < http::OriginPace::kKnownAnswers; ++i) {
      Call call(pool);
      call.start_pipelined("/learn");
      REQUIRE(run(call) == Ends{ExchangeEnd::answered});
    }
    for (std::size_t i = 0; i < http::OriginPace::kKnownAnswers; ++i) {
      // Two connections are busy, or the only one: one of these is put behind another.
      Call first(pool), second(pool), third(pool);
      for (Call* call : {&first, &second, &third})
        call->start_pipelined("/learn");
      for (Call* call : {&first, &second, &third})
        REQUIRE(run(*call) == Ends{ExchangeEnd::answered});
    }
    // Connections that were shared take no unverified exchange any more.
    origin.close_all();
    REQUIRE(run_until(io, [&] { return pool.connections() == 0; }));
    origin.accepted = 0;
    origin.requests.clear();
  }
  // The state in which the origin has the request, and the call has no answer.
  void run_until_busy(std::size_t requests = 1) {
    REQUIRE(run_until(io, [&] { return origin.requests.size() == requests; }));
  }
  // Whatever is under way happens, had it been left to.
  void settle() { run_for(io, milliseconds(20)); }

  boost::asio::io_context io{1};
  http::OriginTimeouts timeouts{TimeoutQueue(seconds(1)), TimeoutQueue(seconds(2)),
                                TimeoutQueue(seconds(3))};
  ScriptedOrigin origin;
  OriginPool pool;
};

// Time-outs happen when a test says so: nothing here waits for a clock.
inline TimePoint much_later() {
  return std::chrono::steady_clock::now() + seconds(100);
}

}  // namespace prophecy::test
