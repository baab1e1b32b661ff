#include "sketcher/client/proxy_intake.hpp"

#include <array>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/socket.h>

#include "base/unique_fd.hpp"

namespace prophecy::sketcher {
namespace {

using State = ProxyIntake::State;

// A connection, with the peer in the test's hands.
struct Wire {
  Wire() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
    own = UniqueFd(ends[0]);
    peer = UniqueFd(ends[1]);
  }
  void send(std::string_view text) const {
    REQUIRE(::send(peer.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  }
  [[nodiscard]] std::string rest() const {
    std::string text(64, '\0');
    const ssize_t size = ::recv(own.get(), text.data(), text.size(), 0);
    text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return text;
  }
  UniqueFd own;
  UniqueFd peer;
};

}  // namespace

TEST_CASE("the header is taken, and nothing behind it") {
  Wire wire;
  ProxyIntake intake;
  wire.send("PROXY TCP4 192.0.2.1 10.0.0.2 50000 443\r\nGET /");
  REQUIRE(intake.receive(wire.own.get()) == State::done);
  REQUIRE(intake.connection().has_value());
  CHECK(intake.connection()->source.to_string() == "192.0.2.1");
  CHECK(wire.rest() == "GET /");
}

TEST_CASE("the header may come in pieces") {
  Wire wire;
  ProxyIntake intake;
  CHECK(intake.receive(wire.own.get()) == State::waiting);
  wire.send("PROXY UNK");
  CHECK(intake.receive(wire.own.get()) == State::waiting);
  CHECK(wire.rest().empty());
  wire.send("NOWN\r");
  CHECK(intake.receive(wire.own.get()) == State::waiting);
  wire.send("\n");
  CHECK(intake.receive(wire.own.get()) == State::done);
  CHECK_FALSE(intake.connection().has_value());
  CHECK(wire.rest().empty());
}

TEST_CASE("a long header goes through in several looks") {
  Wire wire;
  ProxyIntake intake;
  std::string header;
  http::append_proxy_header_v2(header, {});
  header[14] = 0x0f;  // 3840 bytes of extensions
  wire.send(header + std::string(3840, 't') + "next");
  REQUIRE(intake.receive(wire.own.get()) == State::done);
  CHECK(wire.rest() == "next");
}

TEST_CASE("no header, and an end too early") {
  Wire wire;
  ProxyIntake intake;
  wire.send("GET / HTTP/1.1\r\n");
  CHECK(intake.receive(wire.own.get()) == State::failed);
  CHECK(intake.failure() == "no PROXY header");

  Wire short_one;
  ProxyIntake waiting;
  short_one.send("PROXY TCP4 1.");
  CHECK(waiting.receive(short_one.own.get()) == State::waiting);
  short_one.peer = UniqueFd();
  CHECK(waiting.receive(short_one.own.get()) == State::failed);
  CHECK(waiting.failure() == "connection ended inside its PROXY header");
}

}  // namespace prophecy::sketcher
