#include "pbft/group/group_file.hpp"

#include <catch2/catch.hpp>

using namespace prophecy;
using namespace prophecy::pbft;

namespace {

std::string digits(unsigned number) {
  return std::string(62, '0') + (number < 10 ? "0" : "") + std::to_string(number);
}

std::string exchange_key(const std::string& key) {
  return "public_key = \"" + key + "\"\n";
}

std::string signing_key(const std::string& key) {
  return "public_signing_key = \"" + key + "\"\n";
}

std::string public_keys(unsigned number) {
  return exchange_key("x25519:" + digits(number)) + signing_key("ed25519:" + digits(number));
}

std::string replica(unsigned id, const std::string& address, const std::string& keys) {
  return "[[replica]]\nid = " + std::to_string(id) + "\naddress = \"" + address + "\"\n" + keys;
}

std::string client(unsigned id, const std::string& keys) {
  return "[[client]]\nid = " + std::to_string(id) + "\n" + keys;
}

const std::string kFounded = "founded = \"ffeeddccbbaa99887766554433221100\"\n";
const std::string kGroup =
    "[group]\nid = \"00112233445566778899aabbccddeeff\"\nfaults = 1\n" + kFounded;

std::string replicas(unsigned count) {
  std::string text;
  for (unsigned id = 0; id < count; ++id) {
    text += replica(id, "127.0.0.1:" + std::to_string(7000 + id), public_keys(id + 1));
  }
  return text;
}

std::string mistakes_in(const std::string& text) {
  const auto group = parse_group_file(text, "g");
  return group.has_value() ? "" : group.error().message;
}

}  // namespace

TEST_CASE("A group file is read into members at their places") {
  const std::string text = kGroup + replica(3, "[::1]:7003", public_keys(4)) + replicas(3) +
                           client(2000, public_keys(90)) + client(1024, public_keys(91)) +
                           "[canonical]\nkeyed_headers = [\"x-tenant\"]\n";
  const auto group = parse_group_file(text, "g");
  REQUIRE(group.has_value());
  CHECK(to_hex(group->id) == "00112233445566778899aabbccddeeff");
  CHECK(to_hex(group->life()) == to_hex(group->id) + "ffeeddccbbaa99887766554433221100");
  CHECK(group->faults == 1);
  CHECK(group->number == 1);
  CHECK(parse_group_file(kGroup + "number = 7\n" + replicas(4), "g")->number == 7);
  CHECK_FALSE(group->encrypted_links);
  CHECK(parse_group_file(kGroup + "encrypted_links = true\n" + replicas(4), "g")->encrypted_links);
  REQUIRE(group->replicas.size() == 4);
  CHECK(to_string(group->replicas[3].address) == "[::1]:7003");
  CHECK(to_string(group->replicas[2].public_keys.exchange) == "x25519:" + digits(3));
  CHECK(to_string(group->replicas[2].public_keys.signing) == "ed25519:" + digits(3));
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
  const std::string exchange = "x25519:" + digits(9);
  const std::string signing = "ed25519:" + digits(9);
  CHECK(mistakes_in(kGroup + replicas(4)).empty());
  CHECK_THAT(mistakes_in(kGroup + replicas(3)), Contains("expected 4 tables [[replica]]"));
  CHECK_THAT(mistakes_in(kGroup + replicas(5)), Contains("replica.id"));
  CHECK_THAT(mistakes_in(kGroup + replicas(3) + replica(2, "127.0.0.1:9", public_keys(9))),
             Contains("g:21:6: replica.id: expected an id that no other replica has, found 2"));
  CHECK_THAT(mistakes_in(kGroup + replicas(3) + replica(3, "127.0.0.1:7001", public_keys(9))),
             Contains("g:22:11: replica.address: expected an address that no other replica has"));
  CHECK_THAT(mistakes_in(kGroup + replicas(3) + replica(3, "127.0.0.1:0", public_keys(9))),
             Contains("expected a port"));
  CHECK_THAT(mistakes_in(kGroup + replicas(3) + replica(3, "localhost:80", public_keys(9))),
             Contains("numeric address"));
  CHECK_THAT(mistakes_in(kGroup + replicas(4) + client(5, public_keys(9))), Contains("client.id"));
  CHECK_THAT(mistakes_in(kGroup + replicas(4) + client(1024, public_keys(9)) +
                         client(1024, public_keys(10))),
             Contains("expected an id that no other client has"));
  CHECK_THAT(mistakes_in(kGroup + replicas(4) +
                         client(1024, exchange_key("x25519:12") + signing_key(signing))),
             Contains("client.public_key"));
  CHECK_THAT(mistakes_in(kGroup + replicas(4) +
                         client(1024, exchange_key(exchange) + signing_key(exchange))),
             Contains("client.public_signing_key: expected a public signing key"));
  CHECK_THAT(mistakes_in(kGroup + replicas(4) +
                         client(1024, exchange_key("x25519:" + digits(2)) + signing_key(signing))),
             Contains("members 1 and 1024 have the same public key"));
  CHECK_THAT(
      mistakes_in(kGroup + replicas(4) +
                  client(1024, exchange_key(exchange) + signing_key("ed25519:" + digits(2)))),
      Contains("members 1 and 1024 have the same public signing key"));
  CHECK_THAT(mistakes_in("[group]\nid = \"zz\"\nfaults = 1\n" + kFounded + replicas(4)),
             Contains("g:2:6: group.id: expected 32 hexadecimal digits"));
  CHECK_THAT(mistakes_in("[group]\nid = \"00112233445566778899aabbccddeeff\"\nfaults = 22\n"),
             Contains("group.faults"));
  const std::string unfounded = "[group]\nid = \"00112233445566778899aabbccddeeff\"\nfaults = 1\n";
  CHECK_THAT(mistakes_in(unfounded + replicas(4)), Contains("group.founded: expected 32 random"));
  CHECK_THAT(mistakes_in(unfounded + "founded = \"12\"\n" + replicas(4)),
             Contains("g:4:11: group.founded: expected 32 hexadecimal digits"));
  CHECK_THAT(mistakes_in(kGroup + replicas(4) + "[other]\nx = 1\n"), Contains("unknown key"));
}

TEST_CASE("A file from before there were signing keys says so once") {
  std::string text = kGroup;
  for (unsigned id = 0; id < 4; ++id) {
    text += replica(id, "127.0.0.1:" + std::to_string(7000 + id),
                    exchange_key("x25519:" + digits(id + 1)));
  }
  const std::string mistakes =
      mistakes_in(text + client(1024, exchange_key("x25519:" + digits(9))));
  CHECK_THAT(
      mistakes,
      Catch::Contains("g:5:1: replica.public_signing_key: expected a signing key, found nothing") &&
          Catch::Contains("make the group's keys anew"));
  CHECK(std::count(mistakes.begin(), mistakes.end(), '\n') == 0);
}

TEST_CASE("A wrong id takes no place, and equal keys are told beside other mistakes") {
  const std::string wrong =
      "[[replica]]\nid = \"0\"\naddress = \"127.0.0.1:6999\"\n" + public_keys(9);
  std::string others;
  for (unsigned id = 0; id < 3; ++id)
    others += replica(id, "127.0.0.1:" + std::to_string(7000 + id), public_keys(id + 1));
  const std::string mistakes = mistakes_in(kGroup + wrong + others);
  CHECK_THAT(mistakes, Catch::Contains("replica.id: expected a whole number from 0 to 3"));
  CHECK(std::count(mistakes.begin(), mistakes.end(), '\n') == 0);
  CHECK_THAT(mistakes_in(kGroup + replicas(4) + client(1024, public_keys(2)) + "[other]\nx = 1\n"),
             Catch::Contains("members 1 and 1024 have the same public key") &&
                 Catch::Contains("other: unknown key"));
}

TEST_CASE("Several mistakes are told together") {
  const std::string text = mistakes_in("[group]\nid = \"zz\"\nfaults = 1\n" + replicas(3) +
                                       client(5, exchange_key("nonsense")));
  CHECK(std::count(text.begin(), text.end(), '\n') >= 3);
}
