// Keys and nonces from the system's generator. One object a thread, none shared over a fork.
#pragma once

#include "base/random.hpp"
#include "pbft/auth/entropy.hpp"

namespace prophecy::pbft {

class SystemEntropy final : public Entropy {
 public:
  void fill(std::span<std::uint8_t> out) override { random_.fill(out); }

 private:
  SecureRandom random_;
};

}  // namespace prophecy::pbft
