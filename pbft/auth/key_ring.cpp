#include "pbft/auth/key_ring.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <openssl/evp.h>

#include "base/assert.hpp"
#include "base/codec.hpp"
#include "pbft/auth/evp.hpp"

namespace prophecy::pbft {
namespace {

constexpr std::string_view kSignaturePurpose = "prophecy pbft signature 1";

// What goes in front of the digest of everything that is signed.
Bytes signed_prefix(ByteView group_id) {
  Bytes prefix;
  Writer writer(prefix);
  writer.sized(group_id);
  writer.raw(as_bytes(kSignaturePurpose));
  return prefix;
}

// Session keys, and Ed25519.
class CryptographicScheme final : public KeyScheme {
 public:
  CryptographicScheme(NodeId self, ByteView group_id, const PrivateKeys& private_keys)
      : sessions_(self, Bytes(group_id.begin(), group_id.end())),
        signing_key_(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr,
                                                  private_keys.signing.bytes.data(), kKeySize)),
        signed_prefix_(signed_prefix(group_id)) {
    ASSERT(signing_key_ != nullptr);  // as it had a public half
  }

  // False when its signatures cannot be verified.
  [[nodiscard]] bool add_signer(const Member& member) {
    EvpKey key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr,
                                           member.public_keys.signing.bytes.data(), kKeySize));
    if (!key) return false;
    verification_keys_.emplace(member.id, std::move(key));
    return true;
  }

  [[nodiscard]] bool knows(NodeId member) const override { return sessions_.knows(member); }
  [[nodiscard]] bool has_key(NodeId member, std::uint32_t session) const override {
    return sessions_.has_key(member, session);
  }
  [[nodiscard]] Tag tag(NodeId to, std::uint32_t session,
                        const Sha256::Digest& content) const override {
    return sessions_.tag(to, session, content);
  }
  [[nodiscard]] bool verify(NodeId from, std::uint32_t session, const Sha256::Digest& content,
                            ByteView tag) const override {
    return sessions_.verify(from, session, content, tag);
  }
  [[nodiscard]] Signature sign(const Sha256::Digest& content) const override;
  [[nodiscard]] bool verify_signature(NodeId member, const Sha256::Digest& content,
                                      ByteView signature) const override;
  [[nodiscard]] SessionKeys* sessions() override { return &sessions_; }

 private:
  [[nodiscard]] Bytes signed_bytes(const Sha256::Digest& content) const;

  SessionKeys sessions_;
  EvpKey signing_key_;
  std::unordered_map<NodeId, EvpKey> verification_keys_;  // of all members
  Bytes signed_prefix_;
};

Bytes CryptographicScheme::signed_bytes(const Sha256::Digest& content) const {
  Bytes bytes = signed_prefix_;
  bytes.insert(bytes.end(), content.begin(), content.end());
  return bytes;
}

Signature CryptographicScheme::sign(const Sha256::Digest& content) const {
  const Bytes bytes = signed_bytes(content);
  const EvpDigestContext context(EVP_MD_CTX_new());
  Signature signature{};
  std::size_t size = signature.size();
  const bool done =
      context &&
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, signing_key_.get()) == 1 &&
      EVP_DigestSign(context.get(), signature.data(), &size, bytes.data(), bytes.size()) == 1;
  ASSERT(done && size == signature.size());  // Ed25519 fails for want of memory only
  return signature;
}

bool CryptographicScheme::verify_signature(NodeId member, const Sha256::Digest& content,
                                           ByteView signature) const {
  const auto key = verification_keys_.find(member);
  if (key == verification_keys_.end() || signature.size() != kSignatureSize) return false;
  const Bytes bytes = signed_bytes(content);
  const EvpDigestContext context(EVP_MD_CTX_new());
  ASSERT(context != nullptr);
  return EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key->second.get()) == 1 &&
         EVP_DigestVerify(context.get(), signature.data(), signature.size(), bytes.data(),
                          bytes.size()) == 1;
}

// The number of replicas, when the list is one of a group: each id once, 0 to n-1, and `self`.
Result<std::uint32_t> check_members(NodeId self, std::span<const Member> members) {
  std::vector<NodeId> ids;
  for (const Member& member : members)
    ids.push_back(member.id);
  std::sort(ids.begin(), ids.end());
  if (std::adjacent_find(ids.begin(), ids.end()) != ids.end()) {
    return Error{ErrorKind::invalid, "a member of the group is listed twice"};
  }
  std::uint32_t replicas = 0;
  for (const NodeId id : ids) {
    if (is_client(id)) continue;
    if (id != replicas || id >= kReplicasMax) {
      return Error{ErrorKind::invalid, "replica ids do not run from 0 to n-1"};
    }
    ++replicas;
  }
  if (!std::binary_search(ids.begin(), ids.end(), self)) {
    return Error{ErrorKind::invalid,
                 "member " + std::to_string(self) + " is not listed in the group"};
  }
  return replicas;
}

// `own` is the public half of a private key, which may be another member's.
template <typename Key>
Result<> check_own(const Key& own, const Key& listed, NodeId self) {
  if (own == listed) return {};
  return Error{ErrorKind::unauthenticated, "wrong key: its public half is " + to_string(own) +
                                               ", but the group lists " + to_string(listed) +
                                               " for member " + std::to_string(self)};
}

Error no_use(const char* what, NodeId member) {
  return {ErrorKind::invalid,
          std::string(what) + " the public key of member " + std::to_string(member)};
}

}  // namespace

Result<KeyRing> KeyRing::derive(NodeId self, const PrivateKeys& private_keys, ByteView group_id,
                                std::span<const Member> members) {
  const Result<std::uint32_t> replicas = check_members(self, members);
  if (!replicas) return replicas.error();
  const Result<PublicKeys> own = public_keys_of(private_keys);
  if (!own) return own.error();

  auto scheme = std::make_unique<CryptographicScheme>(self, group_id, private_keys);
  for (const Member& member : members) {
    if (!scheme->add_signer(member)) {
      return no_use("no signature can be verified with", member.id);
    }
    if (member.id == self) {
      const Result<> exchange = check_own(own->exchange, member.public_keys.exchange, self);
      if (!exchange) return exchange.error();
      const Result<> signing = check_own(own->signing, member.public_keys.signing, self);
      if (!signing) return signing.error();
      continue;
    }
    if (is_client(self) && is_client(member.id)) continue;
    const auto secret = shared_secret(private_keys.exchange, member.public_keys.exchange);
    if (!secret) return no_use("no secret can be shared with", member.id);
    scheme->sessions()->add_partner(member.id, *secret);
  }
  return KeyRing(self, *replicas, std::move(scheme));
}

KeyRing::KeyRing(NodeId self, std::uint32_t replicas, std::unique_ptr<KeyScheme> scheme)
    : self_(self), replicas_(replicas), scheme_(std::move(scheme)) {}

void KeyRing::append_authenticator(const Sha256::Digest& content, Bytes& out) const {
  for (NodeId to = 0; to < replicas_; ++to) {
    const Tag part = to == self_ ? Tag{} : tag(to, content);
    out.insert(out.end(), part.begin(), part.end());
  }
}

bool KeyRing::verify_authenticator(NodeId from, const Sha256::Digest& content,
                                   ByteView authenticator, std::uint32_t session) const {
  if (self_ >= replicas_ || authenticator.size() != replicas_ * kTagSize) return false;
  return verify(from, content, authenticator.subspan(self_ * kTagSize, kTagSize), session);
}

}  // namespace prophecy::pbft
