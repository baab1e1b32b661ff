#include "sketcher/ring/hand_over_links.hpp"

#include <algorithm>

#include <arpa/inet.h>
#include <catch2/catch.hpp>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include "support/event_loop.hpp"
#include "support/temporary_folder.hpp"
#include "tools/keys/ring_keygen.hpp"
#include "transport/connecting.hpp"

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
  void on_report_ask(const dht::ReportAsk& ask, const std::string& from) override {
    links.give_part(from, {.token = ask.token, .total = 5, .bytes = "hello"});
  }
  void on_report_part(dht::ReportPart part, const std::string& from) override {
    parts.push_back(from + ": " + part.bytes);
  }
  void on_lost(const std::string& member) override { lost.push_back(member); }

  Logger log{"test", {.level = LogLevel::error}};
  RingTls tls;
  RingCounters counters;
  Endpoint address;
  UniqueFd listener;
  std::vector<std::string> asked;
  std::vector<std::string> answered;
  std::vector<std::string> parts;
  std::vector<std::string> lost;
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
  return transport::start_connecting(*IpAddress::parse(to.address), to.port);
}

// The authority's certificate for several names in the place of member `name`'s.
void give_names(const std::filesystem::path& folder, const std::string& name,
                const std::string& names) {
  auto authority = transport::load_certificate(
      {.chain = folder / "ring-ca.pem", .key = folder / "ring-ca.key", .ocsp = {}});
  const auto chain = folder / ("ring-" + name + ".pem");
  auto member = transport::load_certificate(
      {.chain = chain, .key = folder / ("ring-" + name + ".key"), .ocsp = {}});
  REQUIRE(authority.has_value());
  REQUIRE(member.has_value());
  X509& certificate = member->leaf();
  const int place = X509_get_ext_by_NID(&certificate, NID_subject_alt_name, -1);
  REQUIRE(place >= 0);
  X509_EXTENSION_free(X509_delete_ext(&certificate, place));
  X509_EXTENSION* const extension =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str());
  REQUIRE(extension != nullptr);
  REQUIRE(X509_add_ext(&certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
  REQUIRE(X509_sign(&certificate, authority->key.get(), EVP_sha256()) > 0);
  BIO* const file = BIO_new_file(chain.c_str(), "w");
  REQUIRE(PEM_write_bio_X509(file, &certificate) == 1);
  BIO_free(file);
}

struct TwoMembers {
  TwoMembers() {
    a.links.set_members(view);
    b.links.set_members(view);
  }

  boost::asio::io_context loop;
  const Keys keys;
  Node a{loop, keys, "a"};
  Node b{loop, keys, "b"};
  const dht::View view = view_of({{"a", a.address}, {"b", b.address}});
};

}  // namespace

TEST_CASE_METHOD(TwoMembers,
                 "A member hands over while strangers hold connections that say nothing") {
  std::vector<UniqueFd> strangers;
  strangers.reserve(300);
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

TEST_CASE("A member whose certificate has other members' names is asked as the one that is meant") {
  boost::asio::io_context loop;
  const Keys keys;
  give_names(keys.folder.path() / "keys", "b", "DNS:a,DNS:b,DNS:c");
  Node a(loop, keys, "a");
  Node b(loop, keys, "b");
  const dht::View view = view_of({{"a", a.address}, {"b", b.address}, {"c", a.address}});
  a.links.set_members(view);
  b.links.set_members(view);
  a.links.ask("b", {});
  REQUIRE(run_until(loop, [&] { return !a.answered.empty(); }));
  CHECK(a.answered == std::vector<std::string>{"b"});
  CHECK(b.asked == std::vector<std::string>{"a"});
}

TEST_CASE("A certificate with several members' names asks for nothing") {
  boost::asio::io_context loop;
  const Keys keys;
  give_names(keys.folder.path() / "keys", "b", "DNS:a,DNS:b");
  Node a(loop, keys, "a");
  Node b(loop, keys, "b");
  const dht::View view = view_of({{"a", a.address}, {"b", b.address}});
  a.links.set_members(view);
  b.links.set_members(view);
  b.links.ask("a", {});
  REQUIRE(run_until(loop, [&] { return a.counters.links_refused.get() == 1; }));
  CHECK(a.asked.empty());
}

TEST_CASE_METHOD(TwoMembers, "A member gives its report to a member that asks") {
  CHECK(b.links.ask_report("a", {.token = 3}));
  REQUIRE(run_until(loop, [&] { return !b.parts.empty(); }));
  CHECK(b.parts == std::vector<std::string>{"a: hello"});
  // On the connection of the hand-over.
  b.links.ask("a", {});
  REQUIRE(run_until(loop, [&] { return !b.answered.empty(); }));
  CHECK(a.links.accepted() == 1);
  // Nobody has asked from there.
  a.links.give_part("c", {.token = 3, .total = 5, .bytes = "hello"});
  CHECK(b.lost.empty());
}

TEST_CASE("Who asks learns that a member cannot be reached") {
  boost::asio::io_context loop;
  const Keys keys;
  Node b(loop, keys, "b");
  Endpoint nowhere;
  listen_anywhere(nowhere).reset();
  b.links.set_members(view_of({{"a", nowhere}, {"b", b.address}}));
  CHECK(b.links.ask_report("a", {.token = 3}));
  REQUIRE(run_until(loop, [&] { return !b.lost.empty(); }));
  CHECK(b.lost == std::vector<std::string>{"a"});
  CHECK_FALSE(b.links.ask_report("c", {.token = 4}));
}

}  // namespace prophecy::sketcher
