// Answers in pieces: as they come, without a limit, and no faster than their handler wants.
#include <numeric>

#include <fmt/format.h>

#include "pool_world.hpp"

namespace prophecy::test {
namespace {

constexpr std::size_t kPiece = 10'000;

std::string long_body(std::size_t size) {
  std::string body(size, '\0');
  for (std::size_t i = 0; i < size; ++i)
    body[i] = static_cast<char>('a' + i / 100 % 26);
  return body;
}

class PieceCall final : http::OriginHandler {
 public:
  explicit PieceCall(OriginPool& pool) : pool_(pool) {}

  void start(std::size_t whole_bytes = 0) {
    pool_.start(exchange, {.wire = kRequest, .piece_bytes = kPiece, .whole_bytes = whole_bytes});
  }

  OriginExchange exchange{*this};
  Ends ends;
  std::string body;
  std::vector<std::size_t> pieces;  // the first is the head's
  std::function<void()> on_piece = [] {};

 private:
  void on_exchange_progress(OriginExchange&, http::Response& response) override {
    pieces.push_back(response.body.size());
    take(response);
    on_piece();
  }
  void on_exchange_end(OriginExchange&, ExchangeEnd end, http::Response& response) override {
    ends.push_back(end);
    if (end == ExchangeEnd::answered) take(response);
  }
  void take(http::Response& response) {
    body += response.body;
    response.body.clear();
  }

  OriginPool& pool_;
};

bool run(World& world, PieceCall& call) {
  return run_until(world.io, [&] { return !call.exchange.active(); });
}

}  // namespace

TEST_CASE("a body of a declared length comes in pieces of the size that was asked for") {
  const std::string body = long_body(12 * kPiece + 7);  // far beyond the limit of whole answers
  World world({answer(body), answer("next")});
  PieceCall call(world.pool);
  call.start();
  REQUIRE(run(world, call));
  CHECK(call.ends == Ends{ExchangeEnd::answered});
  CHECK(call.body == body);
  REQUIRE(call.pieces.size() == 13);
  CHECK(call.pieces[0] == 0);
  for (std::size_t i = 1; i < call.pieces.size(); ++i)
    CHECK(call.pieces[i] == kPiece);
  CHECK(world.ask() == "next");
  CHECK(world.origin.accepted == 1);
}

TEST_CASE("chunked bodies and those that end with the connection come in pieces, too") {
  const std::string body = long_body(8 * kPiece);
  std::string chunks;
  for (std::size_t at = 0; at < body.size(); at += 1000)
    chunks += "3e8\r\n" + body.substr(at, 1000) + "\r\n";
  const Step chunked{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks +
                     "0\r\n\r\n"};
  const Step until_close{"HTTP/1.1 200 OK\r\n\r\n" + body, true};
  for (const Step& step : {chunked, until_close}) {
    World world({step});
    PieceCall call(world.pool);
    call.start();
    REQUIRE(run(world, call));
    CHECK(call.ends == Ends{ExchangeEnd::answered});
    CHECK(call.body == body);
    CHECK(call.pieces.size() > 2);
  }
}

TEST_CASE("what is no larger than that comes whole") {
  constexpr std::size_t kWhole = 3 * kPiece;
  const auto chunked = [](const std::string& body) {
    std::string chunks;
    for (std::size_t at = 0; at < body.size(); at += 1000)
      chunks += fmt::format("{:x}\r\n", std::min<std::size_t>(1000, body.size() - at)) +
                body.substr(at, 1000) + "\r\n";
    return Step{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + "0\r\n\r\n"};
  };
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, kWhole, kWhole + 1, 2 * kWhole}) {
    const std::string body = long_body(size);
    for (const bool declared : {true, false}) {
      World world({declared ? answer(body) : chunked(body)});
      PieceCall call(world.pool);
      call.start(kWhole);
      REQUIRE(run(world, call));
      // Without a length, it cannot be told that pieces will follow before too much is held.
      const bool too_large = !declared && size > kWhole;
      CHECK(call.ends == Ends{too_large ? ExchangeEnd::too_large : ExchangeEnd::answered});
      CHECK(call.body == (too_large ? "" : body));
      CHECK(call.pieces.empty() == (size <= kWhole || too_large));
      if (!call.pieces.empty()) CHECK(call.pieces[0] == 0);
    }
  }
}

TEST_CASE("less than a piece may be too much to come whole") {
  const std::string body = long_body(kPiece - 1);
  const Step until_close{"HTTP/1.1 200 OK\r\n\r\n" + body, true};
  for (const std::size_t whole : {kPiece - 1, kPiece - 2}) {
    World world({until_close});
    PieceCall call(world.pool);
    call.start(whole);
    REQUIRE(run(world, call));
    CHECK(call.ends == Ends{whole == body.size() ? ExchangeEnd::answered : ExchangeEnd::too_large});
  }
}

TEST_CASE("while it is paused nothing is read and no time passes") {
  const std::string body = long_body(30 * kPiece);
  World world({answer(body)});
  PieceCall call(world.pool);
  call.on_piece = [&] {
    if (call.pieces.size() == 3) call.exchange.pause();
  };
  call.start();
  REQUIRE(run_until(world.io, [&] { return call.pieces.size() == 3; }));
  world.settle();
  world.timeouts.answer.expire(much_later());
  CHECK(call.pieces.size() == 3);
  CHECK(call.exchange.active());
  call.exchange.resume();
  REQUIRE(run(world, call));
  CHECK(call.ends == Ends{ExchangeEnd::answered});
  CHECK(call.body == body);
}

TEST_CASE("its time is over when nothing extends it") {
  World world({{"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n" + long_body(2 * kPiece)}});
  PieceCall call(world.pool);
  call.start();
  REQUIRE(run_until(world.io, [&] { return call.pieces.size() >= 2; }));
  world.timeouts.answer.expire(much_later());
  CHECK(call.ends == Ends{ExchangeEnd::timed_out});
}

TEST_CASE("it may be cancelled at the head and at a piece, and started anew") {
  const std::string body = long_body(3 * kPiece);
  for (const std::size_t at : {1, 2}) {
    World world({answer(body)});
    PieceCall call(world.pool);
    call.on_piece = [&] {
      if (call.pieces.size() != at) return;
      call.exchange.cancel();
      call.body.clear();
      call.start();
    };
    call.start();
    REQUIRE(run(world, call));
    CHECK(call.ends == Ends{ExchangeEnd::answered});
    CHECK(call.body == body);
    CHECK(world.origin.accepted == 2);
  }
}

TEST_CASE("a body that is cut short is broken") {
  World world({{"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n" + long_body(2 * kPiece), true}});
  PieceCall call(world.pool);
  call.start();
  REQUIRE(run(world, call));
  CHECK(call.ends == Ends{ExchangeEnd::broken});
}

TEST_CASE("large whole answers follow each other in one storage") {
  const std::string body = long_body(600'000);
  World world({answer(body), answer("small"), answer(body)});
  OriginSettings settings = World::settings(world.origin.address(), 4, 10);
  settings.answer_limits.body_bytes_max = body.size();
  OriginPool pool(world.io, settings, world.timeouts);
  for (const std::string& expected : {body, std::string("small"), body}) {
    Call call(pool);
    call.start();
    REQUIRE(world.run(call) == Ends{ExchangeEnd::answered});
    CHECK(call.bodies.front() == expected);
  }
  pool.stop();
  world.settle();
}

}  // namespace prophecy::test
