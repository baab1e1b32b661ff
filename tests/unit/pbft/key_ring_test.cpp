#include <catch2/catch.hpp>
#include <openssl/evp.h>

#include "pbft/group.hpp"

namespace prophecy::pbft::test {
namespace {

const Digest kSealedContent = sha256(as_bytes("content"));

TEST_CASE("Both ends of a pair agree, and nobody else") {
  const Tag tag = ring(1).tag(2, kSealedContent);
  CHECK(ring(2).verify(1, kSealedContent, tag));
  CHECK_FALSE(ring(3).verify(1, kSealedContent, tag));
  CHECK_FALSE(ring(2).verify(3, kSealedContent, tag));
  CHECK_FALSE(ring(2).verify(1, sha256(as_bytes("other")), tag));
}

TEST_CASE("A tag cannot be reflected to its maker") {
  const Tag tag = ring(1).tag(2, kSealedContent);
  CHECK_FALSE(ring(1).verify(2, kSealedContent, tag));
  CHECK(ring(1).tag(2, kSealedContent) != ring(2).tag(1, kSealedContent));
}

TEST_CASE("Another group's keys are others") {
  const KeyRing one = ring_of(1, kReplicas, "another group");
  CHECK_FALSE(ring(2).verify(1, kSealedContent, one.tag(2, kSealedContent)));
}

TEST_CASE("Every bit of a tag counts, and its length") {
  Tag tag = ring(1).tag(2, kSealedContent);
  for (std::size_t bit = 0; bit < 8 * tag.size(); ++bit) {
    tag[bit / 8] ^= static_cast<std::uint8_t>(1 << (bit % 8));
    CHECK_FALSE(ring(2).verify(1, kSealedContent, tag));
    tag[bit / 8] ^= static_cast<std::uint8_t>(1 << (bit % 8));
  }
  CHECK_FALSE(ring(2).verify(1, kSealedContent, ByteView(tag).first(15)));
  CHECK_FALSE(ring(2).verify(1, kSealedContent, {}));
}

TEST_CASE("An authenticator has a part for every replica but its maker") {
  Bytes authenticator;
  ring(kClient).append_authenticator(kSealedContent, authenticator);
  REQUIRE(authenticator.size() == kReplicas * kTagSize);
  for (NodeId node = 0; node < kReplicas; ++node) {
    CHECK(ring(node).verify_authenticator(kClient, kSealedContent, authenticator));
    CHECK_FALSE(ring(node).verify_authenticator(kClient + 1, kSealedContent, authenticator));
  }
  authenticator[kTagSize] ^= 1;  // the part of replica 1
  CHECK(ring(0).verify_authenticator(kClient, kSealedContent, authenticator));
  CHECK_FALSE(ring(1).verify_authenticator(kClient, kSealedContent, authenticator));
  authenticator.pop_back();
  CHECK_FALSE(ring(0).verify_authenticator(kClient, kSealedContent, authenticator));

  Bytes own;
  ring(2).append_authenticator(kSealedContent, own);
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
  CHECK_FALSE(ring(0).verify(9, kSealedContent, Tag{}));
}

TEST_CASE("A signature convinces every member, whoever made it") {
  for (const NodeId signer : {NodeId{1}, kClient}) {
    const Signature signature = ring(signer).sign(kSealedContent);
    for (const NodeId node : {NodeId{0}, NodeId{1}, kClient, kClient + 1}) {
      CHECK(ring(node).verify_signature(signer, kSealedContent, signature));
      CHECK_FALSE(ring(node).verify_signature(2, kSealedContent, signature));
      CHECK_FALSE(ring(node).verify_signature(9, kSealedContent, signature));
      CHECK_FALSE(ring(node).verify_signature(signer, sha256(as_bytes("other")), signature));
    }
  }
}

TEST_CASE("A signature is of one group, and for one purpose") {
  const KeyRing elsewhere = ring_of(1, kReplicas, "another group");
  CHECK(elsewhere.verify_signature(1, kSealedContent, elsewhere.sign(kSealedContent)));
  CHECK_FALSE(ring(2).verify_signature(1, kSealedContent, elsewhere.sign(kSealedContent)));
  // The same bytes signed without the group and the purpose, and with them.
  const PrivateKeys secrets = secrets_of(1);
  EVP_PKEY* key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr,
                                               secrets.signing.bytes.data(), kKeySize);
  const auto plain = [&](ByteView message) {
    Signature signature{};
    std::size_t size = signature.size();
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    REQUIRE(EVP_DigestSignInit(context, nullptr, nullptr, nullptr, key) == 1);
    REQUIRE(EVP_DigestSign(context, signature.data(), &size, message.data(), message.size()) == 1);
    EVP_MD_CTX_free(context);
    return signature;
  };
  CHECK_FALSE(ring(2).verify_signature(1, kSealedContent, plain(kSealedContent)));
  Bytes documented{10, 0, 0, 0};
  for (const ByteView part :
       {as_bytes("test group"), as_bytes("prophecy pbft signature 1"), ByteView(kSealedContent)}) {
    documented.insert(documented.end(), part.begin(), part.end());
  }
  CHECK(ring(2).verify_signature(1, kSealedContent, plain(documented)));
  EVP_PKEY_free(key);
}

TEST_CASE("Another life of the same group, with the same keys, has other MACs and signatures") {
  const auto ring_in = [](NodeId node, std::string_view life) {
    return ring_of(node, kReplicas, std::string("test group") + std::string(life));
  };
  const KeyRing before = ring_in(1, "founded once");
  const KeyRing same = ring_in(2, "founded once");
  const KeyRing anew = ring_in(2, "founded again");
  CHECK(same.verify_signature(1, kSealedContent, before.sign(kSealedContent)));
  CHECK_FALSE(anew.verify_signature(1, kSealedContent, before.sign(kSealedContent)));
  CHECK(same.verify(1, kSealedContent, before.tag(2, kSealedContent)));
  CHECK_FALSE(anew.verify(1, kSealedContent, before.tag(2, kSealedContent)));
}

TEST_CASE("Every byte of a signature counts, and its length") {
  Signature signature = ring(1).sign(kSealedContent);
  for (std::uint8_t& byte : signature) {
    byte ^= 1;
    CHECK_FALSE(ring(2).verify_signature(1, kSealedContent, signature));
    byte ^= 1;
  }
  CHECK(ring(2).verify_signature(1, kSealedContent, signature));
  CHECK_FALSE(ring(2).verify_signature(1, kSealedContent, ByteView(signature).first(63)));
  CHECK_FALSE(ring(2).verify_signature(1, kSealedContent, {}));
  Bytes longer(signature.begin(), signature.end());
  longer.push_back(0);
  CHECK_FALSE(ring(2).verify_signature(1, kSealedContent, longer));
}

TEST_CASE("A key that is not the listed one is refused as such") {
  PrivateKeys exchange_of_another = secrets_of(1);
  exchange_of_another.exchange = secrets_of(2).exchange;
  PrivateKeys signing_of_another = secrets_of(1);
  signing_of_another.signing = secrets_of(2).signing;
  for (const PrivateKeys& keys : {exchange_of_another, signing_of_another, secrets_of(2)}) {
    const auto derived = KeyRing::derive(1, keys, as_bytes("g"), members_of(kReplicas));
    REQUIRE_FALSE(derived.has_value());
    CHECK(derived.error().kind == ErrorKind::unauthenticated);
    CHECK(derived.error().message.find("wrong key") != std::string::npos);
  }
}

TEST_CASE("Lists that are no group are refused") {
  const auto refused = [](std::vector<Member> members, NodeId self) {
    return !KeyRing::derive(self, secrets_of(self), as_bytes("g"), members).has_value();
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
  low_order[2].public_keys.exchange = PublicKey{};  // a point whose secret is always zero
  CHECK(refused(low_order, 1));
}

TEST_CASE("Keys in text form") {
  const auto secrets = generate_private_keys();
  REQUIRE(secrets.has_value());
  const auto shown = public_keys_of(*secrets);
  REQUIRE(shown.has_value());
  CHECK(*parse_public_key(to_string(shown->exchange)) == shown->exchange);
  CHECK(*parse_public_signing_key(to_string(shown->signing)) == shown->signing);
  const std::string file = to_file_text(*secrets);
  CHECK(file.ends_with("\n"));
  CHECK(parse_private_keys(file)->exchange.bytes == secrets->exchange.bytes);
  CHECK(parse_private_keys(file)->signing.bytes == secrets->signing.bytes);
  CHECK(parse_private_keys(file.substr(0, file.size() - 1)).has_value());
  CHECK_FALSE(parse_private_keys(file + "\n").has_value());
  CHECK_FALSE(parse_private_keys(file.substr(0, file.size() - 2)).has_value());
  CHECK_FALSE(parse_private_keys(to_string(shown->exchange)).has_value());
  CHECK_FALSE(parse_public_key("x25519:00").has_value());
  CHECK_FALSE(parse_public_key(to_string(shown->signing)).has_value());
  CHECK_FALSE(parse_public_key("").has_value());
  CHECK_FALSE(parse_public_signing_key(to_string(shown->exchange)).has_value());
}

TEST_CASE("A file without a signing key says what to do") {
  const std::string file = to_file_text(secrets_of(1));
  const std::size_t line = file.find('\n');
  for (const std::string& old : {file.substr(0, line), file.substr(0, line + 1)}) {
    const auto keys = parse_private_keys(old);
    REQUIRE_FALSE(keys.has_value());
    CHECK_THAT(keys.error().message, Catch::Contains("make the group's keys anew"));
  }
  // The other way round it is none of ours.
  CHECK_FALSE(parse_private_keys(file.substr(line + 1) + file.substr(0, line)).has_value());
}

}  // namespace
}  // namespace prophecy::pbft::test
