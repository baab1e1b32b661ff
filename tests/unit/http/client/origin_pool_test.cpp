#include "client/pool_world.hpp"

using namespace prophecy;
using namespace prophecy::http;
using namespace prophecy::test;

TEST_CASE("Exchanges follow each other on one kept-alive connection, fresh ones apart") {
  World world({answer("one"), answer("two"), answer("three")});
  CHECK(world.ask() == "one");
  CHECK(world.ask() == "two");
  CHECK(world.origin.accepted == 1);
  Call fresh(world.pool);
  fresh.start(true);
  CHECK(world.run(fresh) == Ends{ExchangeEnd::answered});
  CHECK(world.origin.accepted == 2);
  CHECK(world.pool.connections() == 2);
}

TEST_CASE("Fresh connections take the places of idle ones: an origin may have a process for each") {
  World world(std::deque<Step>(20, answer("x")), 16);
  for (int write = 0; write < 12; ++write) {
    Call fresh(world.pool);
    fresh.start(true);
    CHECK(world.run(fresh) == Ends{ExchangeEnd::answered});
  }
  CHECK(world.origin.accepted == 12);
  CHECK(world.pool.connections() <= 3);
  CHECK(world.ask() == "x");
  CHECK(world.origin.accepted == 12);
}

TEST_CASE("An answer that says close ends its connection, and a later exchange opens another") {
  World world({answer("one", "Connection: close\r\n"), answer("two")});
  CHECK(world.ask() == "one");
  CHECK(world.pool.connections() == 0);
  CHECK(world.ask() == "two");
  CHECK(world.origin.accepted == 2);
}

TEST_CASE("Answers that come bit by bit on several connections are not mixed up") {
  const std::string all = answer("aaaa", "X-A: 1\r\n").answer;
  for (std::size_t cut = 1; cut < all.size(); ++cut) {
    CAPTURE(cut);
    World world({{all.substr(0, cut), false}, answer("bbb"), answer("cc")});
    Call slow(world.pool), fast(world.pool);
    slow.start();
    world.run_until_busy();
    world.settle();
    fast.start();
    CHECK(world.run(fast) == Ends{ExchangeEnd::answered});
    CHECK(fast.bodies == std::vector<std::string>{"bbb"});
    world.origin.send(0, all.substr(cut));
    CHECK(world.run(slow) == Ends{ExchangeEnd::answered});
    CHECK(slow.bodies == std::vector<std::string>{"aaaa"});
    CHECK(world.ask() == "cc");
    CHECK(world.origin.accepted == 2);
  }
}

TEST_CASE("A handler may start its exchange again") {
  World world({answer("x")});
  Call call(world.pool);
  call.then = [&] {
    if (call.bodies.size() < 3) call.start();
  };
  call.start();
  CHECK(world.run(call) == Ends(3, ExchangeEnd::answered));
  CHECK(world.origin.requests.size() == 3);
}

TEST_CASE("A stale exchange is repeated once if it asks for that, on a fresh connection") {
  SECTION("it does not") {
    World world({answer("one"), kHangUp, answer("two")});
    CHECK(world.ask() == "one");
    Call call(world.pool);
    call.start();
    CHECK(world.run(call) == Ends{ExchangeEnd::stale});
    CHECK(world.ask() == "two");
  }
  SECTION("it does") {
    World world({answer("one"), kHangUp, answer("two")});
    CHECK(world.ask() == "one");
    Call call(world.pool);
    call.start(false, true);
    CHECK(world.run(call) == Ends{ExchangeEnd::answered});
    CHECK(call.bodies == std::vector<std::string>{"two"});
    CHECK(world.origin.accepted == 2);
  }
  SECTION("the fresh connection is closed as well") {
    World world({answer("one"), kHangUp});
    CHECK(world.ask() == "one");
    Call call(world.pool);
    call.start(false, true);
    CHECK(world.run(call) == Ends{ExchangeEnd::broken});
    CHECK(world.origin.requests.size() == 3);
  }
  SECTION("not on another idle connection, which may be as stale") {
    World world({answer("one"), answer("one"), kHangUp, answer("two")});
    Call first(world.pool), second(world.pool), third(world.pool);
    first.start();
    second.start();
    CHECK(world.run(first) == Ends{ExchangeEnd::answered});
    CHECK(world.run(second) == Ends{ExchangeEnd::answered});
    third.start(false, true);
    CHECK(world.run(third) == Ends{ExchangeEnd::answered});
    CHECK(third.bodies == std::vector<std::string>{"two"});
    CHECK(world.origin.accepted == 3);
  }
}

TEST_CASE("A cancelled exchange hears nothing, and the pool goes on") {
  SECTION("connecting") {
    World world({answer("x")});
    Call call(world.pool);
    call.start();
    call.exchange.cancel();
    world.settle();
    CHECK(call.ends.empty());
    CHECK(world.origin.requests.empty());
    CHECK(world.pool.connections() == 0);
    CHECK(world.ask() == "x");
  }
  SECTION("busy: the answer to come would be taken for the next one's") {
    World world({kSilence, answer("x")});
    Call call(world.pool);
    call.start();
    world.run_until_busy();
    call.exchange.cancel();
    CHECK(world.pool.connections() == 0);
    CHECK(world.ask() == "x");
    CHECK(call.ends.empty());
    CHECK(world.origin.accepted == 2);
  }
  SECTION("busy, with others in the queue, which get its place") {
    World world({kSilence, answer("x")}, 1);
    Call call(world.pool), waits(world.pool);
    call.start();
    waits.start();
    world.run_until_busy();
    call.exchange.cancel();
    CHECK(world.run(waits) == Ends{ExchangeEnd::answered});
    CHECK(call.ends.empty());
  }
  SECTION("queued") {
    World world({answer("one"), answer("two")}, 1);
    Call first(world.pool), second(world.pool), third(world.pool);
    first.start();
    second.start();
    third.start();
    CHECK(world.pool.waiting() == 2);
    second.exchange.cancel();
    CHECK(world.pool.waiting() == 1);
    CHECK(world.run(first) == Ends{ExchangeEnd::answered});
    CHECK(world.run(third) == Ends{ExchangeEnd::answered});
    CHECK(second.ends.empty());
    CHECK(world.origin.requests.size() == 2);
  }
  SECTION("by its own end") {
    World world({kSilence, answer("x")}, 1);
    {
      Call connecting(world.pool), queued(world.pool);
      connecting.start();
      queued.start();
    }
    {
      Call busy(world.pool);
      busy.start();
      world.run_until_busy();
    }
    CHECK(world.ask() == "x");
  }
}

TEST_CASE("Beyond the queue's bound an exchange is overloaded at once") {
  World world({answer("x")}, 1, 2);
  Call carried(world.pool), first(world.pool), second(world.pool), beyond(world.pool);
  carried.start();
  first.start();
  second.start();
  beyond.start();
  CHECK(beyond.ends == Ends{ExchangeEnd::overloaded});
  for (Call* call : {&carried, &first, &second})
    CHECK(world.run(*call) == Ends{ExchangeEnd::answered});
  CHECK(world.origin.accepted == 1);
  CHECK(world.ask() == "x");
}

TEST_CASE("Time-outs") {
  SECTION("to connect: nothing has left") {
    World world({answer("x")});
    Call call(world.pool);
    call.start();
    world.timeouts.connect.expire(much_later());
    CHECK(call.ends == Ends{ExchangeEnd::not_sent});
    CHECK_FALSE(world.pool.up());
    CHECK(world.ask() == "x");
    CHECK(world.pool.up());
  }
  SECTION("for an answer, while connecting, or in the queue by our own load: nothing has left") {
    World world({answer("x")}, 1);
    Call connecting(world.pool), queued(world.pool);
    connecting.start();
    queued.start();
    world.timeouts.answer.expire(much_later());
    CHECK(connecting.ends == Ends{ExchangeEnd::not_sent});
    CHECK(queued.ends == Ends{ExchangeEnd::overloaded});
    CHECK(world.pool.waiting() == 0);
    CHECK(world.ask() == "x");
    CHECK(world.origin.requests.size() == 1);
  }
  SECTION("for an answer, which may come yet and must not be the next one's") {
    const Step& late = GENERATE(as<Step>(), kSilence, Step{"HTTP/1.1 200 OK\r\nContent-Le", false});
    World world({late, answer("x")});
    Call call(world.pool);
    call.start();
    world.run_until_busy();
    world.settle();
    world.timeouts.answer.expire(much_later());
    CHECK(call.ends == Ends{ExchangeEnd::timed_out});
    CHECK(world.pool.connections() == 0);
    CHECK(world.ask() == "x");
  }
  SECTION("of an idle connection") {
    World world({answer("x")});
    CHECK(world.ask() == "x");
    CHECK(world.pool.connections() == 1);
    world.timeouts.idle.expire(much_later());
    CHECK(world.pool.connections() == 0);
    CHECK(world.ask() == "x");
    CHECK(world.origin.accepted == 2);
  }
  SECTION("an answered exchange, and a busy connection, have none left") {
    World world({answer("x"), kSilence});
    CHECK(world.ask() == "x");
    world.timeouts.connect.expire(much_later());
    world.timeouts.answer.expire(much_later());
    CHECK(world.pool.connections() == 1);
    Call call(world.pool);
    call.start();
    world.run_until_busy(2);
    world.timeouts.idle.expire(much_later());
    CHECK(call.ends.empty());
  }
}

TEST_CASE("A connection whose request was answered before it was through is not used again") {
  // More than the sockets' buffers hold, and the origin reads slowly.
  const std::string large = "PUT /a HTTP/1.1\r\nhost: x\r\ncontent-length: 33554432\r\n\r\n" +
                            std::string(33'554'432, 'x');
  World world({answer("enough"), answer("x")});
  Call call(world.pool);
  call.start(false, false, large);
  CHECK(world.run(call) == Ends{ExchangeEnd::answered});
  CHECK(call.bodies == std::vector<std::string>{"enough"});
  CHECK(world.pool.connections() == 0);
  CHECK(world.ask() == "x");
  CHECK(world.origin.accepted == 2);
}

TEST_CASE("An answer that is none ends the exchange and the connection") {
  struct Case {
    std::string bytes;
    bool close;
    ExchangeEnd end;
  };
  const Case wrong = GENERATE(
      as<Case>(), Case{"nonsense\r\n\r\n", false, ExchangeEnd::malformed},
      // Bytes behind the answer would be taken for the next one.
      Case{answer("x").answer + "HTTP/1.1 200 OK\r\n", false, ExchangeEnd::malformed},
      Case{answer("x").answer + answer("planted").answer, false, ExchangeEnd::malformed},
      Case{"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n", false, ExchangeEnd::too_large},
      Case{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + std::string(1001, 'x') +
               "\r\n",
           false, ExchangeEnd::too_large},
      Case{"", true, ExchangeEnd::broken},
      Case{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", true, ExchangeEnd::broken});
  CAPTURE(wrong.bytes);
  World world({Step{wrong.bytes, wrong.close}, answer("well again")});
  Call call(world.pool);
  call.start();
  CHECK(world.run(call) == Ends{wrong.end});
  CHECK(call.bodies.empty());
  CHECK(world.pool.connections() == 0);
  CHECK(world.ask() == "well again");
}

TEST_CASE("Bytes behind an answer are nobody's, though the answer ends where a read does") {
  const std::string body(1000, 'x');
  // One read takes 8 KiB, and a body that does not end in it is read to its end, and no further.
  const std::size_t head_bytes = GENERATE(std::size_t{8192 - 1000}, std::size_t{7500});
  std::string large = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nPad: ";
  large.append(head_bytes - large.size() - 4, 'p').append("\r\n\r\n").append(body);
  World world({Step{large + answer("planted").answer, false}, answer("asked for")}, 1);
  Call first(world.pool), waits(world.pool);
  first.start();
  waits.start();
  CHECK(world.run(first) == Ends{ExchangeEnd::answered});
  CHECK(world.run(waits) == Ends{ExchangeEnd::answered});
  CHECK(first.bodies == std::vector<std::string>{body});
  CHECK(waits.bodies == std::vector<std::string>{"asked for"});
  CHECK(world.origin.accepted == 2);
}

TEST_CASE("A body that ends with the connection is whole only if that ends well") {
  const std::string answer_bytes = "HTTP/1.1 200 OK\r\n\r\nthe body";
  const bool reset = GENERATE(false, true);
  World world({Step{answer_bytes, true, reset}});
  Call call(world.pool);
  call.start();
  CHECK(world.run(call) == Ends{reset ? ExchangeEnd::broken : ExchangeEnd::answered});
}

TEST_CASE("A pool that stops calls nobody, and leaves the loop without work") {
  boost::asio::io_context elsewhere{1};
  ScriptedOrigin origin(elsewhere, {answer("x"), kSilence});
  boost::asio::io_context io{1};
  OriginTimeouts timeouts{TimeoutQueue(seconds(1)), TimeoutQueue(seconds(2)),
                          TimeoutQueue(seconds(3))};
  OriginPool pool(io, World::settings(origin.address(), 3, 10), timeouts);
  const auto both_until = [&](const std::function<bool()>& condition) {
    REQUIRE(run_until(io, [&] {
      elsewhere.poll();
      return condition();
    }));
  };
  // A connection in each state, and an exchange in the queue.
  Call idle(pool), busy(pool), connecting(pool), more(pool), queued(pool);
  idle.start();
  both_until([&] { return !idle.exchange.active(); });
  busy.start(true);
  both_until([&] { return origin.requests.size() == 2; });
  const bool full = GENERATE(false, true);
  connecting.start(true);
  if (full) {
    more.start();
    queued.start();
    CHECK(pool.waiting() == 1);
  }
  CHECK(pool.connections() == 3);
  pool.stop();
  CHECK(pool.connections() == 0);
  CHECK(pool.waiting() == 0);
  io.restart();
  io.run_for(seconds(10));
  CHECK(io.stopped());
  for (const Call* call : {&busy, &connecting, &more, &queued})
    CHECK(call->ends.empty());
}

TEST_CASE("A connection says once in front of its requests whose it is") {
  boost::asio::io_context io{1};
  OriginTimeouts timeouts{TimeoutQueue(seconds(1)), TimeoutQueue(seconds(2)),
                          TimeoutQueue(seconds(3))};
  ScriptedOrigin origin(io, {answer("x")});
  OriginSettings settings = World::settings(origin.address(), 1, 1);
  settings.send_proxy = ProxyAnnouncement::v1;
  OriginPool pool(io, settings, timeouts);
  for (int i = 0; i < 2; ++i) {
    Call call(pool);
    call.start();
    REQUIRE(run_until(io, [&] { return !call.exchange.active(); }));
    CHECK(call.ends == Ends{ExchangeEnd::answered});
  }
  REQUIRE(origin.requests.size() == 2);
  const std::string line = origin.requests[0].substr(0, origin.requests[0].find('\n') + 1);
  CHECK(line.starts_with("PROXY TCP4 127.0.0.1 127.0.0.1 "));
  CHECK(line.ends_with(" " + std::to_string(origin.address().port) + "\r\n"));
  CHECK(origin.requests[0].substr(line.size()) == kRequest);
  CHECK(origin.requests[1] == kRequest);
}
