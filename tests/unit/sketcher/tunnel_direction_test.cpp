#include "sketcher/client/tunnel/tunnel_direction.hpp"

#include <memory>

#include <catch2/catch.hpp>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace prophecy::sketcher {
namespace {

using transport::ByteStream;
using Outcome = TunnelDirection::Outcome;

// One side of a tunnel, and who speaks there.
struct Side {
  Side() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    stream = std::make_unique<ByteStream>(UniqueFd(ends[0]));
    peer.reset(ends[1]);
  }
  void says(const std::string& text) {
    REQUIRE(::send(peer.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
    stream->note(EPOLLIN);
  }
  std::string hears() {
    std::string text(1 << 20, '\0');
    const ssize_t size = ::recv(peer.get(), text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    if (size > 0) stream->note(EPOLLOUT);
    return text;
  }
  std::unique_ptr<ByteStream> stream;
  UniqueFd peer;
};

struct TunnelWorld {
  TunnelDirection::Run run() { return direction.run(*from.stream, *to.stream); }
  Side from;
  Side to;
  TunnelDirection direction;
};

}  // namespace

TEST_CASE("what was held goes first, and nothing is held when all is taken") {
  TunnelWorld world;
  world.direction.hold("first, ");
  world.from.says("then");
  const auto run = world.run();
  CHECK(run.outcome == Outcome::waits);
  CHECK(run.read_bytes == 4);
  CHECK(run.delivered_bytes == 11);
  CHECK(world.to.hears() == "first, then");
  CHECK(world.direction.held_bytes() == 0);
}

TEST_CASE("an orderly end is told behind the last byte that was taken") {
  TunnelWorld world;
  std::string said;
  // More than the socket takes, so that something is held.
  while (world.direction.held_bytes() == 0) {
    world.from.says(std::string(16 << 10, static_cast<char>('a' + said.size() / 16384 % 26)));
    said.append(16 << 10, static_cast<char>('a' + said.size() / 16384 % 26));
    REQUIRE(world.run().outcome == Outcome::waits);
  }
  CHECK(world.direction.held_bytes() <= 17 << 10);
  world.from.says("end");
  said += "end";
  REQUIRE(::shutdown(world.from.peer.get(), SHUT_WR) == 0);
  world.from.stream->note(EPOLLIN | EPOLLRDHUP);
  std::string heard;
  Outcome outcome = Outcome::waits;
  for (int i = 0; i < 100 && outcome == Outcome::waits; ++i) {
    heard += world.to.hears();
    outcome = world.run().outcome;
  }
  CHECK(outcome == Outcome::ended);
  CHECK_FALSE(world.direction.over());
  world.direction.finish();
  heard += world.to.hears();
  CHECK(heard == said);
  CHECK(world.run().outcome == Outcome::waits);
}

TEST_CASE("a receiver that is gone ends it, and what was held is dropped") {
  TunnelWorld world;
  world.to.peer.reset();
  world.from.says("to nobody");
  CHECK(world.run().outcome == Outcome::receiver_broken);
  CHECK(world.direction.over());
  CHECK(world.direction.held_bytes() == 0);
  CHECK(world.run().outcome == Outcome::waits);
}

}  // namespace prophecy::sketcher
