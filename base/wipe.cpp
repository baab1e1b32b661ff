#include "base/wipe.hpp"

#include <openssl/crypto.h>

namespace prophecy {

void wipe(std::span<std::uint8_t> bytes) {
  OPENSSL_cleanse(bytes.data(), bytes.size());
}

}  // namespace prophecy
