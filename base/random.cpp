#include "base/random.hpp"

#include <openssl/rand.h>

#include "base/assert.hpp"

namespace prophecy {

void SecureRandom::fill(std::span<std::uint8_t> out) {
  ASSERT(RAND_bytes(out.data(), static_cast<int>(out.size())) == 1);
}

std::uint32_t SecureRandom::next() {
  if (used_ == block_.size()) {
    fill({reinterpret_cast<std::uint8_t*>(block_.data()), sizeof block_});
    used_ = 0;
  }
  return block_[used_++];
}

std::uint32_t SecureRandom::below(std::uint32_t bound) {
  ASSERT(bound > 0);
  // Lemire's method: the high half of a 64-bit product, rejecting the biased low remainders.
  const std::uint32_t threshold = -bound % bound;
  for (;;) {
    const std::uint64_t product = std::uint64_t{next()} * bound;
    if (static_cast<std::uint32_t>(product) >= threshold) {
      return static_cast<std::uint32_t>(product >> 32);
    }
  }
}

}  // namespace prophecy
