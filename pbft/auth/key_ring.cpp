#include "pbft/auth/key_ring.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>

#include "base/assert.hpp"
#include "base/codec.hpp"

namespace prophecy::pbft {
namespace {

using Mac = Hmac<Sha256>;
using Secret = std::array<std::uint8_t, 32>;

constexpr std::string_view kMacPurpose = "prophecy pbft mac 1";
constexpr std::string_view kSignaturePurpose = "prophecy pbft signature 1";

struct FreeContext {
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Context = std::unique_ptr<EVP_PKEY_CTX, FreeContext>;
using SigningContext = std::unique_ptr<EVP_MD_CTX, FreeContext>;
using EvpKey = std::unique_ptr<EVP_PKEY, FreeContext>;

// Fails for a public key of low order, whose shared secret would be known to everybody.
std::optional<Secret> shared_secret(const PrivateKey& own, const PublicKey& peer) {
  const EvpKey own_key(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, own.bytes.data(), kKeySize));
  const EvpKey peer_key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, peer.bytes.data(), kKeySize));
  if (!own_key || !peer_key) return std::nullopt;
  const Context context(EVP_PKEY_CTX_new(own_key.get(), nullptr));
  Secret secret{};
  std::size_t size = secret.size();
  if (!context || EVP_PKEY_derive_init(context.get()) != 1 ||
      EVP_PKEY_derive_set_peer(context.get(), peer_key.get()) != 1 ||
      EVP_PKEY_derive(context.get(), secret.data(), &size) != 1) {
    return std::nullopt;
  }
  return secret;
}

// The key with which `from` authenticates itself to `to`.
std::optional<Mac> directed_key(const Secret& secret, ByteView group_id, NodeId from, NodeId to) {
  Bytes info = to_bytes(kMacPurpose);
  Writer writer(info);
  writer.sized(group_id);
  writer.integer(from);
  writer.integer(to);
  const Context context(EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nullptr));
  Secret key{};
  std::size_t size = key.size();
  const auto length = [](ByteView bytes) { return static_cast<int>(bytes.size()); };
  if (!context || EVP_PKEY_derive_init(context.get()) != 1 ||
      EVP_PKEY_CTX_set_hkdf_md(context.get(), EVP_sha256()) != 1 ||
      EVP_PKEY_CTX_set1_hkdf_salt(context.get(), group_id.data(), length(group_id)) != 1 ||
      EVP_PKEY_CTX_set1_hkdf_key(context.get(), secret.data(), length(secret)) != 1 ||
      EVP_PKEY_CTX_add1_hkdf_info(context.get(), info.data(), length(info)) != 1 ||
      EVP_PKEY_derive(context.get(), key.data(), &size) != 1) {
    return std::nullopt;
  }
  Mac mac(key);
  OPENSSL_cleanse(key.data(), key.size());
  return mac;
}

Tag cut(const Sha256::Digest& mac) {
  Tag tag;
  std::copy_n(mac.begin(), tag.size(), tag.begin());
  return tag;
}

struct PeerKeys {
  Mac send;
  Mac receive;
};

// What goes in front of the digest of everything that is signed.
Bytes signed_prefix(ByteView group_id) {
  Bytes prefix;
  Writer writer(prefix);
  writer.sized(group_id);
  writer.raw(as_bytes(kSignaturePurpose));
  return prefix;
}

// X25519, HKDF and HMAC, and Ed25519.
class CryptographicScheme final : public KeyScheme {
 public:
  // Fails when no secret can be shared with a member, or its signatures cannot be verified.
  static Result<std::unique_ptr<const KeyScheme>> derive(NodeId self,
                                                         const PrivateKeys& private_keys,
                                                         ByteView group_id,
                                                         std::span<const Member> members,
                                                         std::uint32_t replicas);

  [[nodiscard]] bool knows(NodeId member) const override { return find(member) != nullptr; }
  [[nodiscard]] Tag tag(NodeId to, const Sha256::Digest& content) const override;
  [[nodiscard]] bool verify(NodeId from, const Sha256::Digest& content,
                            ByteView tag) const override;
  [[nodiscard]] Signature sign(const Sha256::Digest& content) const override;
  [[nodiscard]] bool verify_signature(NodeId member, const Sha256::Digest& content,
                                      ByteView signature) const override;

 private:
  [[nodiscard]] const PeerKeys* find(NodeId member) const;
  [[nodiscard]] Bytes signed_bytes(const Sha256::Digest& content) const;

  // Replicas by their id: the hot path. Empty at the own place.
  std::vector<std::optional<PeerKeys>> replica_keys_;
  std::unordered_map<NodeId, PeerKeys> client_keys_;
  EvpKey signing_key_;
  std::unordered_map<NodeId, EvpKey> verification_keys_;  // of all members
  Bytes signed_prefix_;
};

Result<std::unique_ptr<const KeyScheme>> CryptographicScheme::derive(
    NodeId self, const PrivateKeys& private_keys, ByteView group_id,
    std::span<const Member> members, std::uint32_t replicas) {
  auto scheme = std::make_unique<CryptographicScheme>();
  scheme->replica_keys_.resize(replicas);
  scheme->signed_prefix_ = signed_prefix(group_id);
  scheme->signing_key_.reset(EVP_PKEY_new_raw_private_key(
      EVP_PKEY_ED25519, nullptr, private_keys.signing.bytes.data(), kKeySize));
  ASSERT(scheme->signing_key_ != nullptr);  // as it had a public half
  for (const Member& member : members) {
    EvpKey verification_key(EVP_PKEY_new_raw_public_key(
        EVP_PKEY_ED25519, nullptr, member.public_keys.signing.bytes.data(), kKeySize));
    if (!verification_key) {
      return Error{ErrorKind::invalid,
                   "no signature can be verified with the public key of member " +
                       std::to_string(member.id)};
    }
    scheme->verification_keys_.emplace(member.id, std::move(verification_key));
    if (member.id == self || (is_client(self) && is_client(member.id))) continue;
    auto secret = shared_secret(private_keys.exchange, member.public_keys.exchange);
    std::optional<Mac> send;
    std::optional<Mac> receive;
    if (secret) {
      send = directed_key(*secret, group_id, self, member.id);
      receive = directed_key(*secret, group_id, member.id, self);
      OPENSSL_cleanse(secret->data(), secret->size());
    }
    if (!send || !receive) {
      return Error{ErrorKind::invalid, "no secret can be shared with the public key of member " +
                                           std::to_string(member.id)};
    }
    const PeerKeys peer{*send, *receive};
    if (member.id < replicas) {
      scheme->replica_keys_[member.id] = peer;
    } else {
      scheme->client_keys_.emplace(member.id, peer);
    }
  }
  return std::unique_ptr<const KeyScheme>(std::move(scheme));
}

const PeerKeys* CryptographicScheme::find(NodeId member) const {
  if (member < replica_keys_.size()) {
    const auto& keys = replica_keys_[member];
    return keys ? &*keys : nullptr;
  }
  const auto found = client_keys_.find(member);
  return found == client_keys_.end() ? nullptr : &found->second;
}

Bytes CryptographicScheme::signed_bytes(const Sha256::Digest& content) const {
  Bytes bytes = signed_prefix_;
  bytes.insert(bytes.end(), content.begin(), content.end());
  return bytes;
}

Tag CryptographicScheme::tag(NodeId to, const Sha256::Digest& content) const {
  const PeerKeys* keys = find(to);
  ASSERT(keys != nullptr);
  Mac mac = keys->send;
  mac.update(content);
  return cut(mac.finish());
}

bool CryptographicScheme::verify(NodeId from, const Sha256::Digest& content, ByteView tag) const {
  const PeerKeys* keys = find(from);
  if (keys == nullptr) return false;
  Mac mac = keys->receive;
  mac.update(content);
  return equal_in_constant_time(cut(mac.finish()), tag);
}

Signature CryptographicScheme::sign(const Sha256::Digest& content) const {
  const Bytes bytes = signed_bytes(content);
  const SigningContext context(EVP_MD_CTX_new());
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
  const SigningContext context(EVP_MD_CTX_new());
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

}  // namespace

Result<KeyRing> KeyRing::derive(NodeId self, const PrivateKeys& private_keys, ByteView group_id,
                                std::span<const Member> members) {
  const Result<std::uint32_t> replicas = check_members(self, members);
  if (!replicas) return replicas.error();
  const Result<PublicKeys> own = public_keys_of(private_keys);
  if (!own) return own.error();

  for (const Member& member : members) {
    if (member.id != self) continue;
    const Result<> exchange = check_own(own->exchange, member.public_keys.exchange, self);
    if (!exchange) return exchange.error();
    const Result<> signing = check_own(own->signing, member.public_keys.signing, self);
    if (!signing) return signing.error();
  }
  auto scheme = CryptographicScheme::derive(self, private_keys, group_id, members, *replicas);
  if (!scheme) return scheme.error();
  return KeyRing(self, *replicas, std::move(*scheme));
}

KeyRing::KeyRing(NodeId self, std::uint32_t replicas, std::unique_ptr<const KeyScheme> scheme)
    : self_(self), replicas_(replicas), scheme_(std::move(scheme)) {}

void KeyRing::append_authenticator(const Sha256::Digest& content, Bytes& out) const {
  for (NodeId to = 0; to < replicas_; ++to) {
    const Tag part = to == self_ ? Tag{} : tag(to, content);
    out.insert(out.end(), part.begin(), part.end());
  }
}

bool KeyRing::verify_authenticator(NodeId from, const Sha256::Digest& content,
                                   ByteView authenticator) const {
  if (self_ >= replicas_ || authenticator.size() != replicas_ * kTagSize) return false;
  return verify(from, content, authenticator.subspan(self_ * kTagSize, kTagSize));
}

}  // namespace prophecy::pbft
