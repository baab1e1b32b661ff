#include "transport/readiness_loop.hpp"

#include <functional>
#include <memory>
#include <vector>

#include <catch2/catch.hpp>
#include <sys/socket.h>

#include "base/unique_fd.hpp"

namespace prophecy::transport {
namespace {

struct Watched final : ReadinessHandler {
  explicit Watched(ReadinessLoop& loop) {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    ours.reset(ends[0]);
    theirs.reset(ends[1]);
    REQUIRE(loop.add(ours.get(), *this));
  }
  void on_ready(std::uint32_t events) override {
    ++calls;
    seen |= events;
    if (then) then();
  }
  UniqueFd ours;
  UniqueFd theirs;
  int calls = 0;
  std::uint32_t seen = 0;
  std::function<void()> then;
};

}  // namespace

TEST_CASE("A socket's readiness is told once for each change") {
  boost::asio::io_context io;
  ReadinessLoop& loop = ReadinessLoop::of(io);
  Watched one(loop);
  io.poll();
  CHECK(one.seen == EPOLLOUT);
  const int calls = one.calls;
  io.poll();
  CHECK(one.calls == calls);
  REQUIRE(::send(one.theirs.get(), "x", 1, 0) == 1);
  io.poll();
  CHECK((one.seen & EPOLLIN) != 0);
  CHECK(one.calls == calls + 1);
}

TEST_CASE("Who is forgotten is not called any more, not even by the turn under way") {
  boost::asio::io_context io;
  ReadinessLoop& loop = ReadinessLoop::of(io);
  std::vector<std::unique_ptr<Watched>> both;
  both.push_back(std::make_unique<Watched>(loop));
  both.push_back(std::make_unique<Watched>(loop));
  // Whichever is first forgets and destroys the other.
  for (std::size_t i = 0; i < 2; ++i) {
    both[i]->then = [&both, &loop, i] {
      if (!both[1 - i]) return;
      loop.forget(*both[1 - i]);
      both[1 - i].reset();
    };
  }
  io.poll();
  CHECK((both[0] == nullptr) != (both[1] == nullptr));
}

TEST_CASE("Who asks to be called again is, in another turn") {
  boost::asio::io_context io;
  ReadinessLoop& loop = ReadinessLoop::of(io);
  Watched one(loop);
  io.poll();
  one.calls = 0;
  one.then = [&] {
    if (one.calls < 3) loop.call_again(one);
  };
  loop.call_again(one);
  CHECK(one.calls == 0);
  io.poll();
  CHECK(one.calls == 3);
}

TEST_CASE("A loop with nobody left to watch runs out of work") {
  boost::asio::io_context io;
  ReadinessLoop& loop = ReadinessLoop::of(io);
  CHECK(&loop == &ReadinessLoop::of(io));
  for (int i = 0; i < 2; ++i) {
    Watched one(loop);
    loop.forget(one);
    io.restart();
    io.run();
  }
  Watched one(loop);
  one.then = [&] { loop.forget(one); };
  io.restart();
  io.run();
  CHECK(one.calls == 1);
}

}  // namespace prophecy::transport
