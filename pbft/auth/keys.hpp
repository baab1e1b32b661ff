// The identity of a member of a group: an X25519 key pair, from which the MAC keys shared with
// the others follow, and an Ed25519 key pair, for what has to convince third parties. Public keys
// stand in the group file, a member's two private ones in a file of their own (mode 0600).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace prophecy::pbft {

constexpr std::size_t kKeySize = 32;  // of all four

// X25519
struct PublicKey {
  std::array<std::uint8_t, kKeySize> bytes{};
  bool operator==(const PublicKey&) const = default;
};

// Ed25519
struct PublicSigningKey {
  std::array<std::uint8_t, kKeySize> bytes{};
  bool operator==(const PublicSigningKey&) const = default;
};

struct PublicKeys {
  PublicKey exchange;
  PublicSigningKey signing;
};

// Wiped when it dies.
struct PrivateKey {
  std::array<std::uint8_t, kKeySize> bytes{};
  PrivateKey() = default;
  PrivateKey(const PrivateKey&) = default;
  PrivateKey& operator=(const PrivateKey&) = default;
  ~PrivateKey();
};

struct PrivateKeys {
  PrivateKey exchange;  // X25519
  PrivateKey signing;   // Ed25519
};

// Draws from OpenSSL's generator; for programs, never for cores.
[[nodiscard]] Result<PrivateKeys> generate_private_keys();

[[nodiscard]] Result<PublicKeys> public_keys_of(const PrivateKeys& keys);

// "x25519:<64 hexadecimal digits>"
[[nodiscard]] Result<PublicKey> parse_public_key(std::string_view text);
[[nodiscard]] std::string to_string(const PublicKey& key);

// "ed25519:<64 hexadecimal digits>"
[[nodiscard]] Result<PublicSigningKey> parse_public_signing_key(std::string_view text);
[[nodiscard]] std::string to_string(const PublicSigningKey& key);

// A private key file's whole text: "x25519-private:<64 hexadecimal digits>\n" and
// "ed25519-private:<64 hexadecimal digits>\n". The last line feed may be missing.
[[nodiscard]] Result<PrivateKeys> parse_private_keys(std::string_view text);
[[nodiscard]] std::string to_file_text(const PrivateKeys& keys);

}  // namespace prophecy::pbft
