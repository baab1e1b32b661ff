// SHA-1, SHA-256 and HMAC over them, without an allocation: a hash state is a plain value that
// may be copied, so an HMAC key is expanded once and each message starts from a copy of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <openssl/sha.h>

#include "base/bytes.hpp"

namespace prophecy {

class Sha1 {
 public:
  static constexpr std::size_t kBlockSize = 64;
  using Digest = std::array<std::uint8_t, 20>;

  Sha1();
  void update(ByteView bytes);
  [[nodiscard]] Digest finish();

 private:
  SHA_CTX state_;
};

class Sha256 {
 public:
  static constexpr std::size_t kBlockSize = 64;
  using Digest = std::array<std::uint8_t, 32>;

  Sha256();
  void update(ByteView bytes);
  [[nodiscard]] Digest finish();

 private:
  SHA256_CTX state_;
};

[[nodiscard]] Sha256::Digest sha256(ByteView bytes);

// One message under a key (RFC 2104). Copy a freshly keyed one for each message.
template <class Hash>
class Hmac {
 public:
  using Digest = typename Hash::Digest;

  explicit Hmac(ByteView key) {
    std::array<std::uint8_t, Hash::kBlockSize> block{};
    if (key.size() > block.size()) {
      Hash hash;
      hash.update(key);
      const Digest digest = hash.finish();
      std::copy(digest.begin(), digest.end(), block.begin());
    } else {
      std::copy(key.begin(), key.end(), block.begin());
    }
    for (auto& byte : block)
      byte ^= 0x36;
    inner_.update(block);
    for (auto& byte : block)
      byte ^= 0x36 ^ 0x5c;
    outer_.update(block);
  }

  void update(ByteView bytes) { inner_.update(bytes); }

  [[nodiscard]] Digest finish() {
    outer_.update(inner_.finish());
    return outer_.finish();
  }

 private:
  Hash inner_;
  Hash outer_;
};

// Compares without a data-dependent branch. False when the lengths differ.
[[nodiscard]] bool equal_in_constant_time(ByteView a, ByteView b);

}  // namespace prophecy
