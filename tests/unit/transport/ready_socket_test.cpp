#include "transport/ready_socket.hpp"

#include <memory>
#include <string>

#include <catch2/catch.hpp>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace prophecy::transport {
namespace {

struct Pair {
  Pair() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    ours = std::make_unique<ReadySocket>(UniqueFd(ends[0]));
    theirs.reset(ends[1]);
  }
  std::unique_ptr<ReadySocket> ours;
  UniqueFd theirs;
  char buffer[64];
};

}  // namespace

TEST_CASE("A socket that was emptied is not asked again before the kernel tells") {
  Pair pair;
  REQUIRE(::send(pair.theirs.get(), "hello", 5, 0) == 5);
  CHECK(pair.ours->receive(pair.buffer, 64).status == IoStatus::blocked);
  pair.ours->note(EPOLLIN);
  CHECK(pair.ours->receive(pair.buffer, 64).size == 5);
  REQUIRE(::send(pair.theirs.get(), "again", 5, 0) == 5);
  CHECK(pair.ours->receive(pair.buffer, 64).status == IoStatus::blocked);
  pair.ours->note(EPOLLIN);
  CHECK(pair.ours->receive(pair.buffer, 64).size == 5);
}

TEST_CASE("What is left when a buffer was full is read without being told of") {
  Pair pair;
  REQUIRE(::send(pair.theirs.get(), "hello", 5, 0) == 5);
  pair.ours->note(EPOLLIN);
  CHECK(pair.ours->receive(pair.buffer, 3).size == 3);
  CHECK(pair.ours->receive(pair.buffer, 3).size == 2);
}

TEST_CASE("An end behind the last bytes is seen") {
  Pair pair;
  REQUIRE(::send(pair.theirs.get(), "hello", 5, 0) == 5);
  pair.theirs.reset();
  pair.ours->note(EPOLLIN | EPOLLRDHUP | EPOLLHUP);
  CHECK(pair.ours->broken());
  CHECK(pair.ours->receive(pair.buffer, 64).size == 5);
  CHECK(pair.ours->receive(pair.buffer, 64).status == IoStatus::ended);
}

TEST_CASE("What the peer has not taken is with the kernel") {
  Pair pair;
  CHECK(pair.ours->queued_bytes() == 0);
  REQUIRE(pair.ours->send("hello", {}).size == 5);
  CHECK(pair.ours->queued_bytes() >= 5);  // (of such a pair, the kernel's own storage counts)
  REQUIRE(::recv(pair.theirs.get(), pair.buffer, 64, 0) == 5);
  CHECK(pair.ours->queued_bytes() == 0);
}

TEST_CASE("Two pieces leave one behind the other, be they small or large") {
  Pair pair;
  for (const std::size_t size : {0, 4, 2043, 2044, 100'000}) {  // with the head: to 2 KiB, and more
    const std::string body(size, 'b');
    CHECK(pair.ours->send("head ", body).size == 5 + size);
    std::string got(6 + size, '.');
    CHECK(::recv(pair.theirs.get(), got.data(), got.size(), 0) == static_cast<ssize_t>(5 + size));
    CHECK(got == "head " + body + ".");
  }
}

TEST_CASE("A full socket takes no more") {
  Pair pair;
  const std::string large(1 << 20, 'x');
  while (pair.ours->writable())
    static_cast<void>(pair.ours->send(large, {}));
  CHECK(pair.ours->send("more", {}).status == IoStatus::blocked);
}

}  // namespace prophecy::transport
