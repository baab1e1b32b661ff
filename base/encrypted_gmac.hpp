// A keyed digest for processors that multiply without carry, several times as fast there as a hash
// function: AES-256-GMAC (NIST SP 800-38D) under one nonce, and its tag encrypted.
//
// GMAC whose nonce is repeated is a universal hash and nothing more: two tags in the open give its
// key away. So no tag leaves this class but through AES under another key, and what comes out is
// that of a pseudorandom function (hash-then-encrypt; Wegman and Carter, 1981), as far as AES is a
// random permutation. Let messages have at most m blocks of 16 bytes, that of their length
// included. Who chooses q of them and sees all digests finds two that are equal with a probability
// below 2 q^2 m / 2^128, and guesses the digest of another with m / 2^128 a try. Two equal ones
// give the hash key away, and with it as many more as somebody wants.
//
// So the digest has 160 bits, and the strength of a tag of 128. Whoever gets hold of the keys makes
// other messages of any digest, at no cost. It uses OpenSSL's low-level CRYPTO_gcm128_*, which is
// not documented and not part of its FIPS provider.
//
// Allocates when it is made, and never again. For one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include <openssl/evp.h>
#include <openssl/modes.h>

#include "base/bytes.hpp"

namespace prophecy {

class EncryptedGmac {
 public:
  static constexpr std::size_t kKeySize = 32;
  using Digest = std::array<std::uint8_t, 20>;

  // Two keys that have nothing to do with each other, of kKeySize bytes each.
  EncryptedGmac(ByteView hash_key, ByteView cipher_key);

  // A message is start(), any number of update(), finish(). Another start() forgets what came.
  void start();
  void update(ByteView bytes);
  [[nodiscard]] Digest finish();

 private:
  struct Free {
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
    void operator()(GCM128_CONTEXT* context) const { CRYPTO_gcm128_release(context); }
  };
  using Cipher = std::unique_ptr<EVP_CIPHER_CTX, Free>;
  using Gmac = std::unique_ptr<GCM128_CONTEXT, Free>;
  // What AES under the hash key makes of the two blocks that a tag asks of it.
  struct HashKey {
    ~HashKey();
    std::array<std::uint8_t, 16> of_zeros;
    std::array<std::uint8_t, 16> of_counter;
  };
  static void encrypt_block(const unsigned char in[16], unsigned char out[16], const void* key);

  [[nodiscard]] static Cipher make_cipher(ByteView key);

  Cipher cipher_;
  std::unique_ptr<HashKey> hash_key_;  // gmac_ looks into it
  Gmac gmac_;
  bool open_ = false;  // between start() and finish()
};

}  // namespace prophecy
