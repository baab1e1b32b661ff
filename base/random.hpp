// Unpredictable numbers for I/O shells, from OpenSSL's generator. Drawn in blocks, because a
// call a number would cost more than the request it is for. One object a thread; an object made
// before a fork must not be used after it in both processes.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace prophecy {

class SecureRandom {
 public:
  // Uniform in [0, bound), without modulo bias. Requires bound > 0.
  [[nodiscard]] std::uint32_t below(std::uint32_t bound);
  void fill(std::span<std::uint8_t> out);

 private:
  [[nodiscard]] std::uint32_t next();

  std::array<std::uint32_t, 256> block_{};
  std::size_t used_ = 256;
};

}  // namespace prophecy
