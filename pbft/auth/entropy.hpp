// Where keys and nonces come from: the shell's generator, or a test's.
#pragma once

#include <cstdint>
#include <span>

namespace prophecy::pbft {

class Entropy {
 public:
  virtual ~Entropy() = default;
  virtual void fill(std::span<std::uint8_t> out) = 0;
};

}  // namespace prophecy::pbft
