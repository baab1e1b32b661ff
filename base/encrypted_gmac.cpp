#include "base/encrypted_gmac.hpp"

#include <algorithm>
#include <cstring>

#include <openssl/crypto.h>

#include "base/assert.hpp"

namespace prophecy {
namespace {

using Block = std::array<std::uint8_t, 16>;

constexpr std::array<std::uint8_t, 12> kNonce{};
// What GCM has AES encrypt where nothing but the tag is wanted: zeros, once, for the key of the
// hash, and the nonce with a counter of 1, for each tag.
constexpr Block kZeros{};
constexpr Block kFirstCounter{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

// What can fail is a size or a state that we did not have; and at the beginning, an OpenSSL that
// was configured to have no AES, with which nothing here works.
void require(bool done) {
  ASSERT(done);
}

void encrypt(EVP_CIPHER_CTX* cipher, std::span<std::uint8_t> blocks) {
  int size = 0;
  require(EVP_EncryptUpdate(cipher, blocks.data(), &size, blocks.data(),
                            static_cast<int>(blocks.size())) == 1);
  ASSERT(static_cast<std::size_t>(size) == blocks.size());
}

}  // namespace

EncryptedGmac::HashKey::~HashKey() {
  OPENSSL_cleanse(of_zeros.data(), of_zeros.size());
  OPENSSL_cleanse(of_counter.data(), of_counter.size());
}

// OpenSSL's EVP interface to GCM spends more on a short message than its hash does. The calls below
// it run the same code, and ask us for AES: always of the same two blocks, so these are kept.
void EncryptedGmac::encrypt_block(const unsigned char in[16], unsigned char out[16],
                                  const void* key) {
  const auto& kept = *static_cast<const HashKey*>(key);
  const bool zeros = std::memcmp(in, kZeros.data(), kZeros.size()) == 0;
  ASSERT(zeros || std::memcmp(in, kFirstCounter.data(), kFirstCounter.size()) == 0);
  std::memcpy(out, (zeros ? kept.of_zeros : kept.of_counter).data(), sizeof(Block));
}

EncryptedGmac::Cipher EncryptedGmac::make_cipher(ByteView key) {
  ASSERT(key.size() == kKeySize);
  Cipher cipher(EVP_CIPHER_CTX_new());
  ASSERT(cipher);
  require(EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_ecb(), nullptr, key.data(), nullptr) == 1);
  require(EVP_CIPHER_CTX_set_padding(cipher.get(), 0) == 1);
  return cipher;
}

EncryptedGmac::EncryptedGmac(ByteView hash_key, ByteView cipher_key)
    : cipher_(make_cipher(cipher_key)), hash_key_(std::make_unique<HashKey>()) {
  const Cipher hash_cipher = make_cipher(hash_key);
  hash_key_->of_zeros = kZeros;
  hash_key_->of_counter = kFirstCounter;
  encrypt(hash_cipher.get(), hash_key_->of_zeros);
  encrypt(hash_cipher.get(), hash_key_->of_counter);
  gmac_.reset(CRYPTO_gcm128_new(hash_key_.get(), &encrypt_block));
  ASSERT(gmac_);
}

void EncryptedGmac::start() {
  CRYPTO_gcm128_setiv(gmac_.get(), kNonce.data(), kNonce.size());
  open_ = true;
}

void EncryptedGmac::update(ByteView bytes) {
  ASSERT(open_);
  require(CRYPTO_gcm128_aad(gmac_.get(), bytes.data(), bytes.size()) == 0);
}

// The tag has 128 bits: what is beyond comes from a second block. For that to be another message's
// first block, their tags would have to differ in just that bit, which is as improbable as two
// equal tags.
EncryptedGmac::Digest EncryptedGmac::finish() {
  ASSERT(open_);
  open_ = false;
  std::array<std::uint8_t, 2 * sizeof(Block)> blocks;
  CRYPTO_gcm128_tag(gmac_.get(), blocks.data(), sizeof(Block));
  std::copy_n(blocks.begin(), sizeof(Block), blocks.begin() + sizeof(Block));
  blocks.back() ^= 1;
  encrypt(cipher_.get(), blocks);
  Digest digest;
  std::copy_n(blocks.begin(), digest.size(), digest.begin());
  return digest;
}

}  // namespace prophecy
