#include <catch2/catch.hpp>

#include "pbft/group.hpp"

namespace prophecy::pbft::test {
namespace {

const Digest kContent = sha256(as_bytes("content"));

TEST_CASE("Both ends of a pair agree, and nobody else") {
  const Tag tag = ring(1).tag(2, kContent);
  CHECK(ring(2).verify(1, kContent, tag));
  CHECK_FALSE(ring(3).verify(1, kContent, tag));
  CHECK_FALSE(ring(2).verify(3, kContent, tag));
  CHECK_FALSE(ring(2).verify(1, sha256(as_bytes("other")), tag));
}

TEST_CASE("A tag cannot be reflected to its maker") {
  const Tag tag = ring(1).tag(2, kContent);
  CHECK_FALSE(ring(1).verify(2, kContent, tag));
  CHECK(ring(1).tag(2, kContent) != ring(2).tag(1, kContent));
}

TEST_CASE("Another group's keys are others") {
  const KeyRing one = ring_of(1, kReplicas, "another group");
  CHECK_FALSE(ring(2).verify(1, kContent, one.tag(2, kContent)));
}

TEST_CASE("Every bit of a tag counts, and its length") {
  Tag tag = ring(1).tag(2, kContent);
  for (std::size_t bit = 0; bit < 8 * tag.size(); ++bit) {
    tag[bit / 8] ^= static_cast<std::uint8_t>(1 << (bit % 8));
    CHECK_FALSE(ring(2).verify(1, kContent, tag));
    tag[bit / 8] ^= static_cast<std::uint8_t>(1 << (bit % 8));
  }
  CHECK_FALSE(ring(2).verify(1, kContent, ByteView(tag).first(15)));
  CHECK_FALSE(ring(2).verify(1, kContent, {}));
}

TEST_CASE("An authenticator has a part for every replica but its maker") {
  Bytes authenticator;
  ring(kClient).append_authenticator(kContent, authenticator);
  REQUIRE(authenticator.size() == kReplicas * kTagSize);
  for (NodeId node = 0; node < kReplicas; ++node) {
    CHECK(ring(node).verify_authenticator(kClient, kContent, authenticator));
    CHECK_FALSE(ring(node).verify_authenticator(kClient + 1, kContent, authenticator));
  }
  authenticator[kTagSize] ^= 1;  // the part of replica 1
  CHECK(ring(0).verify_authenticator(kClient, kContent, authenticator));
  CHECK_FALSE(ring(1).verify_authenticator(kClient, kContent, authenticator));
  authenticator.pop_back();
  CHECK_FALSE(ring(0).verify_authenticator(kClient, kContent, authenticator));

  Bytes own;
  ring(2).append_authenticator(kContent, own);
  CHECK(std::all_of(own.begin() + 2 * kTagSize, own.begin() + 3 * kTagSize,
                    [](std::uint8_t byte) { return byte == 0; }));
}

TEST_CASE("Strangers are not known, and clients share no keys") {
  CHECK(ring(0).knows(1));
  CHECK(ring(0).knows(kClient));
  CHECK_FALSE(ring(0).knows(0));
  CHECK_FALSE(ring(0).knows(9));
  CHECK_FALSE(ring(0).knows(kClient + 2));
  CHECK_FALSE(ring(kClient).knows(kClient + 1));
  CHECK_FALSE(ring(0).verify(9, kContent, Tag{}));
}

TEST_CASE("A key that is not the listed one is refused as such") {
  const auto derived = KeyRing::derive(1, secret_of(2), as_bytes("g"), members_of(kReplicas));
  REQUIRE_FALSE(derived.has_value());
  CHECK(derived.error().kind == ErrorKind::unauthenticated);
  CHECK(derived.error().message.find("wrong key") != std::string::npos);
}

TEST_CASE("Lists that are no group are refused") {
  const auto refused = [](std::vector<Member> members, NodeId self) {
    return !KeyRing::derive(self, secret_of(self), as_bytes("g"), members).has_value();
  };
  auto members = members_of(kReplicas);
  CHECK_FALSE(refused(members, 1));
  CHECK(refused(members, 7));  // not listed
  auto twice = members;
  twice.push_back(members[0]);
  CHECK(refused(twice, 1));
  auto gap = members;
  gap.erase(gap.begin());
  CHECK(refused(gap, 1));
  auto low_order = members;
  low_order[2].public_key = PublicKey{};  // a point whose secret is always zero
  CHECK(refused(low_order, 1));
}

TEST_CASE("Keys in text form") {
  const auto pair = generate_key_pair();
  REQUIRE(pair.has_value());
  CHECK(*public_key_of(pair->private_key) == pair->public_key);
  CHECK(*parse_public_key(to_string(pair->public_key)) == pair->public_key);
  const std::string file = to_file_text(pair->private_key);
  CHECK(file.ends_with("\n"));
  CHECK(parse_private_key(file)->bytes == pair->private_key.bytes);
  CHECK(parse_private_key(file.substr(0, file.size() - 1)).has_value());
  CHECK_FALSE(parse_private_key(file + "\n").has_value());
  CHECK_FALSE(parse_private_key(to_string(pair->public_key)).has_value());
  CHECK_FALSE(parse_public_key("x25519:00").has_value());
  CHECK_FALSE(parse_public_key("").has_value());
}

}  // namespace
}  // namespace prophecy::pbft::test
