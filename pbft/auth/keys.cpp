#include "pbft/auth/keys.hpp"

#include <span>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/bytes.hpp"
#include "pbft/auth/evp.hpp"

namespace prophecy::pbft {
namespace {

constexpr std::string_view kPublicPrefix = "x25519:";
constexpr std::string_view kPublicSigningPrefix = "ed25519:";
constexpr std::string_view kPrivatePrefix = "x25519-private:";
constexpr std::string_view kPrivateSigningPrefix = "ed25519-private:";

bool parse_prefixed(std::string_view prefix, std::string_view text, std::span<std::uint8_t> out) {
  return text.starts_with(prefix) && from_hex(text.substr(prefix.size()), out);
}

bool generate(const char* type, PrivateKey& out) {
  const EvpKey key(EVP_PKEY_Q_keygen(nullptr, nullptr, type));
  std::size_t size = kKeySize;
  return key && EVP_PKEY_get_raw_private_key(key.get(), out.bytes.data(), &size) == 1;
}

bool public_half(int type, const PrivateKey& key, std::array<std::uint8_t, kKeySize>& out) {
  const EvpKey pair(EVP_PKEY_new_raw_private_key(type, nullptr, key.bytes.data(), kKeySize));
  std::size_t size = kKeySize;
  return pair && EVP_PKEY_get_raw_public_key(pair.get(), out.data(), &size) == 1;
}

}  // namespace

PrivateKey::~PrivateKey() {
  OPENSSL_cleanse(bytes.data(), bytes.size());
}

Result<PrivateKeys> generate_private_keys() {
  PrivateKeys keys;
  if (!generate("X25519", keys.exchange)) {
    return Error{ErrorKind::io, "OpenSSL could not generate an X25519 key"};
  }
  if (!generate("ED25519", keys.signing)) {
    return Error{ErrorKind::io, "OpenSSL could not generate an Ed25519 key"};
  }
  return keys;
}

Result<PublicKeys> public_keys_of(const PrivateKeys& keys) {
  PublicKeys result;
  if (!public_half(EVP_PKEY_X25519, keys.exchange, result.exchange.bytes)) {
    return Error{ErrorKind::invalid, "not an X25519 private key"};
  }
  if (!public_half(EVP_PKEY_ED25519, keys.signing, result.signing.bytes)) {
    return Error{ErrorKind::invalid, "not an Ed25519 private key"};
  }
  return result;
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

Result<PublicSigningKey> parse_public_signing_key(std::string_view text) {
  PublicSigningKey key;
  if (!parse_prefixed(kPublicSigningPrefix, text, key.bytes)) {
    return Error{ErrorKind::invalid,
                 "expected a public signing key, \"ed25519:\" and 64 hex digits"};
  }
  return key;
}

std::string to_string(const PublicSigningKey& key) {
  return std::string(kPublicSigningPrefix) + to_hex(key.bytes);
}

Result<PrivateKeys> parse_private_keys(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  const std::size_t line = text.find('\n');
  PrivateKeys keys;
  if (!parse_prefixed(kPrivatePrefix, text.substr(0, line), keys.exchange.bytes)) {
    return Error{ErrorKind::invalid,
                 "expected a private key, \"x25519-private:\" and 64 hex digits"};
  }
  if (line == std::string_view::npos) {
    return Error{ErrorKind::invalid,
                 "no signing key, \"ed25519-private:\": the file was made before there were any; "
                 "make the group's keys anew with prophecyctl keygen"};
  }
  if (!parse_prefixed(kPrivateSigningPrefix, text.substr(line + 1), keys.signing.bytes)) {
    return Error{ErrorKind::invalid,
                 "expected a private signing key, \"ed25519-private:\" and 64 hex digits, on the "
                 "second line"};
  }
  return keys;
}

std::string to_file_text(const PrivateKeys& keys) {
  return std::string(kPrivatePrefix) + to_hex(keys.exchange.bytes) + "\n" +
         std::string(kPrivateSigningPrefix) + to_hex(keys.signing.bytes) + "\n";
}

}  // namespace prophecy::pbft
