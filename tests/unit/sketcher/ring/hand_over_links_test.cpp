#include "sketcher/ring/hand_over_links.hpp"

#include <algorithm>

#include <arpa/inet.h>
#include <catch2/catch.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "support/event_loop.hpp"
#include "support/temporary_folder.hpp"
#include "tools/keys/ring_keygen.hpp"

namespace prophecy::sketcher {
namespace {

using test::run_for;
using test::run_until;

struct Keys {
  Keys() { REQUIRE(tools::generate_ring_keys({folder.path() / "keys", {"a", "b"}}).has_value()); }
  [[nodiscard]] RingTls of(const std::string& name) const {
    RingSettings settings;
    settings.name = name;
    settings.ca = folder.path() / "keys" / "ring-ca.pem";
    settings.certificate = {.chain = folder.path() / "keys" / ("ring-" + name + ".pem"),
                            .key = folder.path() / "keys" / ("ring-" + name + ".key"),
                            .ocsp = {}};
    auto tls = load_ring_tls(settings);
    REQUIRE(tls.has_value());
    return std::move(*tls);
  }
  test::TemporaryFolder folder;
};

UniqueFd listen_anywhere(Endpoint& at) {
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::listen(listener.get(), 1024) == 0);
  REQUIRE(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  at = {"127.0.0.1", ntohs(address.sin_port)};
  return listener;
}

// A member that answers each ask with a page of nothing.
struct Node final : HandOverLinks::Handler {
  Node(boost::asio::io_context& loop, const Keys& keys, const std::string& name)
      : tls(keys.of(name)),
        listener(listen_anywhere(address)),
        links(loop, tls, std::move(listener), counters, log, *this) {
    links.start();
  }
  [[nodiscard]] std::optional<dht::HandOverPage> on_ask(const dht::HandOverAsk& ask,
                                                        const std::string& from) override {
    asked.push_back(from);
    dht::HandOverPage page;
    page.partition = ask.partition;
    return page;
  }
  void on_page(const dht::HandOverPage&, const std::string& from) override {
    answered.push_back(from);
  }

  Logger log{"test", {.level = LogLevel::error}};
  RingTls tls;
  RingCounters counters;
  Endpoint address;
  UniqueFd listener;
  std::vector<std::string> asked;
  std::vector<std::string> answered;
  HandOverLinks links;
};

dht::View view_of(std::initializer_list<std::pair<const char*, Endpoint>> members) {
  dht::View view;
  view.number = 1;
  for (const auto& [name, address] : members)
    view.members.push_back(
        {.holder = {.name = name, .instance = 1, .weight = 1}, .addresses = {address}});
  return view;
}

UniqueFd stranger(const Endpoint& to) {
  return start_connecting({.address = *IpAddress::parse(to.address), .port = to.port});
}

}  // namespace

TEST_CASE("A member hands over while strangers hold connections that say nothing") {
  boost::asio::io_context loop;
  const Keys keys;
  Node a(loop, keys, "a");
  Node b(loop, keys, "b");
  const dht::View view = view_of({{"a", a.address}, {"b", b.address}});
  a.links.set_members(view);
  b.links.set_members(view);
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 300; ++i)
    strangers.push_back(stranger(a.address));
  run_for(loop, milliseconds(200));
  b.links.ask("a", {});
  REQUIRE(run_until(
      loop, [&] { return !b.answered.empty(); }, seconds(2)));
  CHECK(a.asked == std::vector<std::string>{"b"});
  CHECK(b.answered == std::vector<std::string>{"a"});
  CHECK(a.counters.links_refused.get() >= 200);
}

TEST_CASE("A member that connects anew has left its connection from before") {
  boost::asio::io_context loop;
  const Keys keys;
  Node a(loop, keys, "a");
  auto former = std::make_unique<Node>(loop, keys, "b");
  Node b(loop, keys, "b");
  const dht::View view = view_of({{"a", a.address}, {"b", b.address}});
  for (Node* node : {&a, former.get(), &b})
    node->links.set_members(view);
  former->links.ask("a", {});
  REQUIRE(run_until(loop, [&] { return !former->answered.empty(); }));
  CHECK(a.links.accepted() == 1);
  b.links.ask("a", {});
  REQUIRE(run_until(loop, [&] { return !b.answered.empty(); }));
  CHECK(a.links.accepted() == 1);
  b.links.ask("a", {});
  REQUIRE(run_until(loop, [&] { return b.answered.size() == 2; }));
}

}  // namespace prophecy::sketcher
