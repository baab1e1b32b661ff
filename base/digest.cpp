// OpenSSL's EVP interface allocates and looks up an algorithm for every copy of a state, which
// costs several times the hash of a short message. The older calls below run the same code on a
// state that we own, so this file opts out of their deprecation.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "base/digest.hpp"

#include <openssl/crypto.h>

namespace prophecy {

Sha1::Sha1() {
  SHA1_Init(&state_);
}
void Sha1::update(ByteView bytes) {
  SHA1_Update(&state_, bytes.data(), bytes.size());
}
Sha1::Digest Sha1::finish() {
  Digest digest;
  SHA1_Final(digest.data(), &state_);
  return digest;
}

Sha256::Sha256() {
  SHA256_Init(&state_);
}
void Sha256::update(ByteView bytes) {
  SHA256_Update(&state_, bytes.data(), bytes.size());
}
Sha256::Digest Sha256::finish() {
  Digest digest;
  SHA256_Final(digest.data(), &state_);
  return digest;
}

Sha256::Digest sha256(ByteView bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

bool equal_in_constant_time(ByteView a, ByteView b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace prophecy
