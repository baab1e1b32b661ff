#include "pbft/auth/pair_key.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>

#include "pbft/auth/evp.hpp"

namespace prophecy::pbft {
namespace {

EvpKey private_key(const PrivateKey& key) {
  return EvpKey(EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, key.bytes.data(), kKeySize));
}

int length(ByteView bytes) {
  return static_cast<int>(bytes.size());
}

}  // namespace

PairSecret::~PairSecret() {
  OPENSSL_cleanse(bytes.data(), bytes.size());
}

PairKeys::~PairKeys() {
  OPENSSL_cleanse(static_cast<void*>(&send), sizeof send);
  OPENSSL_cleanse(static_cast<void*>(&receive), sizeof receive);
}

std::optional<PairSecret> shared_secret(const PrivateKey& own, const PublicKey& peer) {
  const EvpKey own_key = private_key(own);
  const EvpKey peer_key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, peer.bytes.data(), kKeySize));
  if (!own_key || !peer_key) return std::nullopt;
  const EvpKeyContext context(EVP_PKEY_CTX_new(own_key.get(), nullptr));
  PairSecret secret;
  std::size_t size = secret.bytes.size();
  if (!context || EVP_PKEY_derive_init(context.get()) != 1 ||
      EVP_PKEY_derive_set_peer(context.get(), peer_key.get()) != 1 ||
      EVP_PKEY_derive(context.get(), secret.bytes.data(), &size) != 1) {
    return std::nullopt;
  }
  return secret;
}

std::optional<PublicKey> exchange_key_of(const PrivateKey& key) {
  const EvpKey own = private_key(key);
  PublicKey shown;
  std::size_t size = shown.bytes.size();
  if (!own || EVP_PKEY_get_raw_public_key(own.get(), shown.bytes.data(), &size) != 1) {
    return std::nullopt;
  }
  return shown;
}

std::optional<Mac> derive_mac(ByteView secret, ByteView salt, ByteView info) {
  const EvpKeyContext context(EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nullptr));
  PairSecret key;
  std::size_t size = key.bytes.size();
  if (!context || EVP_PKEY_derive_init(context.get()) != 1 ||
      EVP_PKEY_CTX_set_hkdf_md(context.get(), EVP_sha256()) != 1 ||
      EVP_PKEY_CTX_set1_hkdf_salt(context.get(), salt.data(), length(salt)) != 1 ||
      EVP_PKEY_CTX_set1_hkdf_key(context.get(), secret.data(), length(secret)) != 1 ||
      EVP_PKEY_CTX_add1_hkdf_info(context.get(), info.data(), length(info)) != 1 ||
      EVP_PKEY_derive(context.get(), key.bytes.data(), &size) != 1) {
    return std::nullopt;
  }
  return Mac(key.bytes);
}

}  // namespace prophecy::pbft
