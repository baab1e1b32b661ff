#include "pbft/auth/keys.hpp"

#include <memory>
#include <span>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/bytes.hpp"

namespace prophecy::pbft {
namespace {

constexpr std::string_view kPublicPrefix = "x25519:";
constexpr std::string_view kPrivatePrefix = "x25519-private:";

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using EvpKey = std::unique_ptr<EVP_PKEY, FreeKey>;

bool parse_prefixed(std::string_view prefix, std::string_view text, std::span<std::uint8_t> out) {
  return text.starts_with(prefix) && from_hex(text.substr(prefix.size()), out);
}

}  // namespace

PrivateKey::~PrivateKey() {
  OPENSSL_cleanse(bytes.data(), bytes.size());
}

Result<KeyPair> generate_key_pair() {
  const EvpKey key(EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519"));
  KeyPair pair;
  std::size_t private_size = kKeySize;
  std::size_t public_size = kKeySize;
  if (!key ||
      EVP_PKEY_get_raw_private_key(key.get(), pair.private_key.bytes.data(), &private_size) != 1 ||
      EVP_PKEY_get_raw_public_key(key.get(), pair.public_key.bytes.data(), &public_size) != 1) {
    return Error{ErrorKind::io, "OpenSSL could not generate an X25519 key"};
  }
  return pair;
}

Result<PublicKey> public_key_of(const PrivateKey& private_key) {
  const EvpKey key(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, private_key.bytes.data(), kKeySize));
  PublicKey public_key;
  std::size_t size = kKeySize;
  if (!key || EVP_PKEY_get_raw_public_key(key.get(), public_key.bytes.data(), &size) != 1) {
    return Error{ErrorKind::invalid, "not an X25519 private key"};
  }
  return public_key;
}

Result<PublicKey> parse_public_key(std::string_view text) {
  PublicKey key;
  if (!parse_prefixed(kPublicPrefix, text, key.bytes)) {
    return Error{ErrorKind::invalid, "expected a public key, \"x25519:\" and 64 hex digits"};
  }
  return key;
}

std::string to_string(const PublicKey& key) {
  return std::string(kPublicPrefix) + to_hex(key.bytes);
}

Result<PrivateKey> parse_private_key(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  PrivateKey key;
  if (!parse_prefixed(kPrivatePrefix, text, key.bytes)) {
    return Error{ErrorKind::invalid,
                 "expected a private key, \"x25519-private:\" and 64 hex digits"};
  }
  return key;
}

std::string to_file_text(const PrivateKey& key) {
  return std::string(kPrivatePrefix) + to_hex(key.bytes) + "\n";
}

}  // namespace prophecy::pbft
