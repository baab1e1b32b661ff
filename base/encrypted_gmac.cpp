#include "base/encrypted_gmac.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace prophecy {
namespace {

constexpr std::size_t kBlockSize = 16;
constexpr std::size_t kUpdateMax = std::size_t{1} << 30;  // OpenSSL's sizes are int
constexpr std::array<std::uint8_t, 12> kNonce{};

// Only a size or a state that we did not have can fail.
void require(int result) {
  ASSERT(result == 1);
}

}  // namespace

EncryptedGmac::EncryptedGmac(ByteView hash_key, ByteView cipher_key)
    : gmac_(EVP_CIPHER_CTX_new()), cipher_(EVP_CIPHER_CTX_new()) {
  ASSERT(hash_key.size() == kKeySize && cipher_key.size() == kKeySize);
  ASSERT(gmac_ && cipher_);
  require(
      EVP_EncryptInit_ex(gmac_.get(), EVP_aes_256_gcm(), nullptr, hash_key.data(), kNonce.data()));
  require(
      EVP_EncryptInit_ex(cipher_.get(), EVP_aes_256_ecb(), nullptr, cipher_key.data(), nullptr));
  require(EVP_CIPHER_CTX_set_padding(cipher_.get(), 0));
}

void EncryptedGmac::start() {
  require(EVP_EncryptInit_ex(gmac_.get(), nullptr, nullptr, nullptr, kNonce.data()));
}

void EncryptedGmac::update(ByteView bytes) {
  while (!bytes.empty()) {
    const ByteView part = bytes.first(std::min(bytes.size(), kUpdateMax));
    int taken = 0;
    require(EVP_EncryptUpdate(gmac_.get(), nullptr, &taken, part.data(),
                              static_cast<int>(part.size())));
    bytes = bytes.subspan(part.size());
  }
}

// The tag has 128 bits: what is beyond comes from a second block. That one is no other message's
// first, but with the probability that two tags differ by what was chosen before: as low as that of
// two equal ones.
EncryptedGmac::Digest EncryptedGmac::finish() {
  std::array<std::uint8_t, 2 * kBlockSize> blocks;
  int size = 0;
  require(EVP_EncryptFinal_ex(gmac_.get(), blocks.data(), &size));
  require(EVP_CIPHER_CTX_ctrl(gmac_.get(), EVP_CTRL_AEAD_GET_TAG, kBlockSize, blocks.data()));
  std::copy_n(blocks.begin(), kBlockSize, blocks.begin() + kBlockSize);
  blocks.back() ^= 1;
  require(EVP_EncryptUpdate(cipher_.get(), blocks.data(), &size, blocks.data(),
                            static_cast<int>(blocks.size())));
  ASSERT(size == static_cast<int>(blocks.size()));
  Digest digest;
  std::copy_n(blocks.begin(), digest.size(), digest.begin());
  return digest;
}

}  // namespace prophecy
