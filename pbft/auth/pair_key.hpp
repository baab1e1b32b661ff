// The arithmetic under the keys that two members share: X25519, and HKDF-SHA256 over its result.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.hpp"
#include "base/digest.hpp"
#include "pbft/auth/keys.hpp"

namespace prophecy::pbft {

using Mac = Hmac<Sha256>;

// 32 bytes that are overwritten when they go away.
struct PairSecret {
  std::array<std::uint8_t, 32> bytes{};

  PairSecret() = default;
  PairSecret(const PairSecret&) = default;
  PairSecret& operator=(const PairSecret&) = default;
  ~PairSecret();
};

struct PairKeys {
  Mac send;
  Mac receive;

  PairKeys(const Mac& to_send, const Mac& to_receive) : send(to_send), receive(to_receive) {}
  PairKeys(const PairKeys&) = default;
  PairKeys& operator=(const PairKeys&) = default;
  ~PairKeys();  // overwrites them
};

// Fails for a public key of low order, whose shared secret would be known to everybody.
[[nodiscard]] std::optional<PairSecret> shared_secret(const PrivateKey& own, const PublicKey& peer);
[[nodiscard]] std::optional<PublicKey> exchange_key_of(const PrivateKey& key);
[[nodiscard]] std::optional<Mac> derive_mac(ByteView secret, ByteView salt, ByteView info);

}  // namespace prophecy::pbft
