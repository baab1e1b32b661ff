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

}  // namespace prophecy::sketcher
