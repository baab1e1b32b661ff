#include "sketcher/ring/hand_over_link.hpp"

#include <algorithm>

#include <catch2/catch.hpp>
#include <sys/socket.h>

#include "sketcher/installation/ring_tls.hpp"
#include "support/event_loop.hpp"
#include "support/temporary_folder.hpp"
#include "tools/keys/ring_keygen.hpp"

namespace prophecy::sketcher {
namespace {

struct Owner final : HandOverLink::Owner {
  std::optional<std::string> member_of(const HandOverLink&, const transport::TlsChannel&) override {
    return "a";
  }
  void on_open(HandOverLink&) override {}
  void on_message(HandOverLink&, dht::HandOverMessage) override { ++messages; }
  void on_closed(HandOverLink&, HandOverLink::End) override { is_closed = true; }
  std::size_t messages = 0;
  bool is_closed = false;
};

}  // namespace

TEST_CASE("A link to a peer that is always behind holds little") {
  const test::TemporaryFolder folder;
  const auto directory = folder.path() / "keys";
  REQUIRE(tools::generate_ring_keys({directory, {"a"}}).has_value());
  RingSettings settings;
  settings.name = "a";
  settings.ca = directory / "ring-ca.pem";
  settings.certificate = {
      .chain = directory / "ring-a.pem", .key = directory / "ring-a.key", .ocsp = {}};
  const auto tls = load_ring_tls(settings);
  REQUIRE(tls.has_value());

  boost::asio::io_context loop;
  TimeoutQueue handshakes{seconds(5)};
  Owner giver_owner;
  Owner taker_owner;
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
  auto& readiness = transport::ReadinessLoop::of(loop);
  HandOverLink giver(readiness, handshakes, giver_owner, UniqueFd(ends[0]));
  HandOverLink taker(readiness, handshakes, taker_owner, UniqueFd(ends[1]));
  giver.accept([&](transport::ReadySocket& socket) { return tls->server->accept(socket); });
  taker.connect([&](transport::ReadySocket& socket) { return tls->client->connect(socket, "a"); });
  REQUIRE(test::run_until(loop, [&] { return giver.is_open() && taker.is_open(); }));

  dht::HandOverPage page{.status = dht::HandOverPage::Status::page};
  page.floors.resize(512);
  const Bytes frame = dht::encode_frame(page);
  constexpr std::size_t kBehind = 512 << 10;
  std::size_t sent = 0;
  std::size_t held_max = 0;
  while (sent < 16U << 20) {
    for (; giver.unsent() < kBehind; sent += frame.size())
      giver.send(frame);
    held_max = std::max(held_max, giver.held_bytes());
    loop.restart();
    loop.run_one_for(milliseconds(5));
    REQUIRE(giver.unsent() > 0);
  }
  CHECK(held_max < 2 * kBehind);
  REQUIRE(test::run_until(loop, [&] { return giver.unsent() == 0; }));
  REQUIRE(test::run_until(loop, [&] { return taker_owner.messages == sent / frame.size(); }));
  CHECK_FALSE(taker_owner.is_closed);
}

}  // namespace prophecy::sketcher
