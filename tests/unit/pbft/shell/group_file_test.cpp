#include "pbft/group_file.hpp"

#include <catch2/catch.hpp>

using namespace prophecy;
using namespace prophecy::pbft;

namespace {

std::string public_key(unsigned number) {
  return "x25519:" + std::string(62, '0') + (number < 10 ? "0" : "") + std::to_string(number);
}

std::string replica(unsigned id, const std::string& address, const std::string& key) {
  return "[[replica]]\nid = " + std::to_string(id) + "\naddress = \"" + address +
         "\"\npublic_key = \"" + key + "\"\n";
}

std::string client(unsigned id, const std::string& key) {
  return "[[client]]\nid = " + std::to_string(id) + "\npublic_key = \"" + key + "\"\n";
}

const std::string kGroup = "[group]\nid = \"00112233445566778899aabbccddeeff\"\nfaults = 1\n";

std::string replicas(unsigned count) {
  std::string text;
  for (unsigned id = 0; id < count; ++id) {
    text += replica(id, "127.0.0.1:" + std::to_string(7000 + id), public_key(id + 1));
  }
  return text;
}

std::string mistakes_in(const std::string& text) {
  const auto group = parse_group_file(text, "g");
  return group.has_value() ? "" : group.error().message;
}

}  // namespace

TEST_CASE("A group file is read into members at their places") {
  const std::string text = kGroup + replica(3, "[::1]:7003", public_key(4)) + replicas(3) +
                           client(2000, public_key(90)) + client(1024, public_key(91)) +
                           "[canonical]\nkeyed_headers = [\"x-tenant\"]\n";
  const auto group = parse_group_file(text, "g");
  REQUIRE(group.has_value());
  CHECK(to_hex(group->id) == "00112233445566778899aabbccddeeff");
  CHECK(group->faults == 1);
  REQUIRE(group->replicas.size() == 4);
  CHECK(to_string(group->replicas[3].address) == "[::1]:7003");
  CHECK(to_string(group->replicas[2].public_key) == public_key(3));
  REQUIRE(group->clients.size() == 2);
  CHECK(group->clients[0].id == 1024);
  CHECK(group->has_client(2000));
  CHECK_FALSE(group->has_client(1025));
  CHECK(group->members().size() == 6);
  CHECK(group->members()[4].id == 1024);
  CHECK(group->addresses()[1].port == 7001);
  CHECK(group->profile.request_rule("x-tenant") == sketch::RequestRule::keyed);
}

TEST_CASE("Each mistake is told with its line") {
  using Catch::Contains;
  CHECK(mistakes_in(kGroup + replicas(4)).empty());
  CHECK_THAT(mistakes_in(kGroup + replicas(3)), Contains("expected 4 tables [[replica]]"));
  CHECK_THAT(mistakes_in(kGroup + replicas(5)), Contains("replica.id"));
  CHECK_THAT(mistakes_in(kGroup + replicas(3) + replica(2, "127.0.0.1:9", public_key(9))),
             Contains("g:17: replica.id: a replica of that id stands above"));
  CHECK_THAT(mistakes_in(kGroup + replicas(3) + replica(3, "127.0.0.1:7001", public_key(9))),
             Contains("g:18: replica.address: another replica has that address"));
  CHECK_THAT(mistakes_in(kGroup + replicas(3) + replica(3, "127.0.0.1:0", public_key(9))),
             Contains("expected a port"));
  CHECK_THAT(mistakes_in(kGroup + replicas(3) + replica(3, "localhost:80", public_key(9))),
             Contains("numeric address"));
  CHECK_THAT(mistakes_in(kGroup + replicas(4) + client(5, public_key(9))), Contains("client.id"));
  CHECK_THAT(mistakes_in(kGroup + replicas(4) + client(1024, public_key(9)) +
                         client(1024, public_key(10))),
             Contains("a client of that id stands above"));
  CHECK_THAT(mistakes_in(kGroup + replicas(4) + client(1024, "x25519:12")),
             Contains("client.public_key"));
  CHECK_THAT(mistakes_in(kGroup + replicas(4) + client(1024, public_key(2))),
             Contains("members 1 and 1024 have the same public key"));
  CHECK_THAT(mistakes_in("[group]\nid = \"zz\"\nfaults = 1\n" + replicas(4)),
             Contains("g:2: group.id: expected 32 hexadecimal digits"));
  CHECK_THAT(mistakes_in("[group]\nid = \"00112233445566778899aabbccddeeff\"\nfaults = 22\n"),
             Contains("group.faults"));
  CHECK_THAT(mistakes_in(kGroup + replicas(4) + "[other]\nx = 1\n"), Contains("unknown key"));
}

TEST_CASE("Several mistakes are told together") {
  const std::string text =
      mistakes_in("[group]\nid = \"zz\"\nfaults = 1\n" + replicas(3) + client(5, "nonsense"));
  CHECK(std::count(text.begin(), text.end(), '\n') >= 3);
}
