#include "sketcher/config/ring_settings.hpp"

#include <catch2/catch.hpp>

namespace prophecy::sketcher {
namespace {

const std::string kTls = "[ring.tls]\nca = \"ca.pem\"\ncertificate = \"a.pem\"\nkey = \"a.key\"\n";

std::string member(const std::string& name, const std::string& addresses,
                   const std::string& more = "") {
  return "[[ring.member]]\nname = \"" + name + "\"\naddresses = [" + addresses + "]\n" + more;
}

struct Read {
  std::optional<RingSettings> ring;
  std::string mistakes;
};

Read read(const std::string& text, std::uint32_t workers = 1) {
  auto file = ConfigFile::parse(text, "sketcher.toml");
  REQUIRE(file.has_value());
  const std::vector<Endpoint> taken{{"127.0.0.1", 8080}};
  Read result{read_ring(file->root(), workers, taken), ""};
  if (const auto finished = file->finish(); !finished) result.mistakes = finished.error().message;
  return result;
}

}  // namespace

TEST_CASE("Without the section there is no ring, and clients come") {
  const Read none = read("");
  CHECK_FALSE(none.ring.has_value());
  CHECK(none.mistakes.empty());
  CHECK(takes_clients(none.ring));
  CHECK(own_addresses(none.ring).empty());
}

TEST_CASE("A ring's members are read, and which of them is this sketcher") {
  const Read two =
      read("[ring]\nname = \"b\"\n" + kTls + member("a", "\"127.0.0.1:7400\"", "weight = 50\n") +
               member("b", "\"127.0.0.1:7401\", \"127.0.0.1:7402\"", "role = \"response\"\n"),
           2);
  CHECK(two.mistakes.empty());
  REQUIRE(two.ring.has_value());
  REQUIRE(two.ring->members.size() == 2);
  CHECK(two.ring->members[0].weight == 50);
  CHECK(two.ring->members[0].role == MemberRole::both);
  CHECK(two.ring->own().name == "b");
  CHECK(two.ring->own().weight == 100);
  CHECK(two.ring->own().role == MemberRole::response);
  CHECK_FALSE(takes_clients(two.ring));
  CHECK(own_addresses(two.ring) == std::vector<Endpoint>{{"127.0.0.1", 7401}, {"127.0.0.1", 7402}});
}

TEST_CASE("Each mistake of a ring is a line of its own") {
  const std::string a = member("a", "\"127.0.0.1:7400\"");
  const auto mistakes = [](const std::string& text) { return read(text).mistakes; };
  CHECK_THAT(mistakes("[ring]\n" + kTls + a), Catch::Contains("sketcher.toml:1:") &&
                                                  Catch::Contains("ring.name: expected a string"));
  CHECK_THAT(mistakes("[ring]\nname = \"a b\"\n" + kTls + a),
             Catch::Contains("2:8: ring.name: expected 1 to 64 letters, digits"));
  CHECK_THAT(
      mistakes("[ring]\nname = \"c\"\n" + kTls + a),
      Catch::Contains("2:8: ring.name: expected the name of a [[ring.member]], found \"c\""));
  CHECK_THAT(mistakes("[ring]\nname = \"a\"\n" + kTls + a + member("A", "\"127.0.0.1:7401\"")),
             Catch::Contains("ring.member.name: expected a name that no other"));
  CHECK_THAT(mistakes("[ring]\nname = \"a\"\n" + kTls + a + member("b", "\"127.0.0.1:7400\"")),
             Catch::Contains("expected an address that no other member and no listener has"));
  CHECK_THAT(mistakes("[ring]\nname = \"a\"\n" + kTls + member("a", "\"127.0.0.1:8080\"")),
             Catch::Contains("expected an address that no other member and no listener has"));
  CHECK_THAT(mistakes("[ring]\nname = \"a\"\n" + kTls + member("a", "\"127.0.0.1:0\"")),
             Catch::Contains("expected an address that the other members can connect to"));
  CHECK_THAT(mistakes("[ring]\nname = \"a\"\n" + kTls + member("a", "")),
             Catch::Contains("expected 1 to 64 of them, one for each worker"));
  CHECK_THAT(mistakes("[ring]\nname = \"a\"\n" + kTls +
                      member("a", "\"127.0.0.1:7400\", \"127.0.0.1:7401\"")),
             Catch::Contains("ring.member.addresses: expected 1 of them, one for each of this "
                             "sketcher's `workers`, found 2"));
  CHECK_THAT(mistakes("[ring]\nname = \"a\"\n" + kTls +
                      member("a", "\"127.0.0.1:7400\"", "role = \"request\"\n")),
             Catch::Contains("expected one whose role is not \"request\""));
  CHECK_THAT(mistakes("[ring]\nname = \"a\"\n" + kTls),
             Catch::Contains("expected 1 to 64 [[ring.member]]"));
  CHECK_THAT(mistakes("[ring]\nname = \"a\"\n" + a),
             Catch::Contains("ring.tls.ca: expected a path, found nothing"));
  CHECK(mistakes("[ring]\nname = \"a\"\n" + kTls + a).empty());
}

TEST_CASE("With ZooKeeper, a ring has no list of members") {
  const std::string living =
      "[ring]\nname = \"a\"\nzookeeper = [\"127.0.0.1:2181\"]\naddresses = [\"127.0.0.1:7400\"]\n"
      "hand_over = \"127.0.0.1:7401\"\n";
  const auto read_one = read(living + "weight = 30\nlease = \"2s\"\n" + kTls);
  REQUIRE(read_one.mistakes.empty());
  const RingSettings& ring = *read_one.ring;
  REQUIRE(ring.living.has_value());
  CHECK(ring.living->zookeeper == std::vector<Endpoint>{{"127.0.0.1", 2181}});
  CHECK(ring.living->root == "/prophecy");
  CHECK(ring.living->lease == seconds(2));
  CHECK(ring.living->without_zookeeper == Duration::zero());
  CHECK(ring.own().name == "a");
  CHECK(ring.own().weight == 30);
  CHECK(own_addresses(ring) == std::vector<Endpoint>{{"127.0.0.1", 7400}});

  const auto mistakes = [](const std::string& text, std::uint32_t workers = 1) {
    return read(text, workers).mistakes;
  };
  CHECK_THAT(mistakes(living + kTls + member("a", "\"127.0.0.1:7402\"")),
             Catch::Contains("ring.member"));
  CHECK_THAT(mistakes(living + kTls, 2), Catch::Contains("expected 2 of them, one for each"));
  CHECK_FALSE(ring.living->zookeeper_tls.has_value());
  CHECK_THAT(mistakes(living + "root = \"prophecy\"\n" + kTls),
             Catch::Contains("ring.root: expected a path of ZooKeeper"));
  CHECK_THAT(mistakes(living + "lease = \"50ms\"\n" + kTls), Catch::Contains("ring.lease"));
  CHECK_THAT(mistakes("[ring]\nname = \"a\"\nzookeeper = [\"127.0.0.1:2181\"]\naddresses = "
                      "[\"127.0.0.1:7400\"]\nhand_over = \"127.0.0.1:7400\"\n" +
                      kTls),
             Catch::Contains("ring.hand_over: expected an address that nothing else listens on"));
  CHECK_THAT(
      mistakes("[ring]\nname = \"a\"\nlease = \"2s\"\n" + kTls + member("a", "\"127.0.0.1:7400\"")),
      Catch::Contains("ring.lease"));
}

TEST_CASE("Connections to ZooKeeper may be inside TLS") {
  const std::string living =
      "[ring]\nname = \"a\"\nzookeeper = [\"127.0.0.1:2281\"]\naddresses = [\"127.0.0.1:7400\"]\n"
      "hand_over = \"127.0.0.1:7401\"\n" +
      kTls + "[ring.zookeeper_tls]\n";
  const auto plain = read(living + "ca = \"zk.pem\"\n");
  REQUIRE(plain.mistakes.empty());
  REQUIRE(plain.ring->living->zookeeper_tls.has_value());
  CHECK(plain.ring->living->zookeeper_tls->server_name.empty());
  CHECK_FALSE(plain.ring->living->zookeeper_tls->certificate.has_value());
  const auto mutual =
      read(living +
           "ca = \"zk.pem\"\nserver_name = \"zk.test\"\ncertificate = \"zk-a.pem\"\n"
           "key = \"zk-a.key\"\n");
  REQUIRE(mutual.mistakes.empty());
  const transport::TlsClientSettings& tls = *mutual.ring->living->zookeeper_tls;
  CHECK(tls.ca.filename() == "zk.pem");
  CHECK(tls.server_name == "zk.test");
  REQUIRE(tls.certificate.has_value());
  CHECK(tls.certificate->chain.filename() == "zk-a.pem");
  CHECK(tls.certificate->key.filename() == "zk-a.key");
  CHECK_THAT(read(living).mistakes, Catch::Contains("ring.zookeeper_tls.ca: expected a path"));
  CHECK_THAT(read(living + "ca = \"zk.pem\"\nkey = \"zk-a.key\"\n").mistakes,
             Catch::Contains("ring.zookeeper_tls.certificate: expected a path"));
  CHECK_THAT(read("[ring]\nname = \"a\"\n" + kTls + member("a", "\"127.0.0.1:7400\"") +
                  "[ring.zookeeper_tls]\nca = \"zk.pem\"\n")
                 .mistakes,
             Catch::Contains("zookeeper_tls"));
}

}  // namespace prophecy::sketcher
