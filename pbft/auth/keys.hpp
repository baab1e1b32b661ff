// The identity of a member of a group: an X25519 key pair. Public keys stand in the group file,
// a private key in a file of its own (mode 0600).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace prophecy::pbft {

constexpr std::size_t kKeySize = 32;

struct PublicKey {
  std::array<std::uint8_t, kKeySize> bytes{};
  bool operator==(const PublicKey&) const = default;
};

// Wiped when it dies.
struct PrivateKey {
  std::array<std::uint8_t, kKeySize> bytes{};
  PrivateKey() = default;
  PrivateKey(const PrivateKey&) = default;
  PrivateKey& operator=(const PrivateKey&) = default;
  ~PrivateKey();
};

struct KeyPair {
  PrivateKey private_key;
  PublicKey public_key;
};

// Draws from OpenSSL's generator; for programs, never for cores.
[[nodiscard]] Result<KeyPair> generate_key_pair();

[[nodiscard]] Result<PublicKey> public_key_of(const PrivateKey& key);

// "x25519:<64 hexadecimal digits>"
[[nodiscard]] Result<PublicKey> parse_public_key(std::string_view text);
[[nodiscard]] std::string to_string(const PublicKey& key);

// A private key file's whole text: "x25519-private:<64 hexadecimal digits>\n". The last line feed
// may be missing.
[[nodiscard]] Result<PrivateKey> parse_private_key(std::string_view text);
[[nodiscard]] std::string to_file_text(const PrivateKey& key);

}  // namespace prophecy::pbft
