// The machine's wall clock and generator, for what a replica proposes with its batches.
#pragma once

#include <chrono>

#include "base/random.hpp"
#include "pbft/core/state/input_source.hpp"

namespace prophecy::pbft {

class SystemInputs final : public InputSource {
 public:
  [[nodiscard]] std::uint64_t wall_time() override {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count();
    return time > 0 ? static_cast<std::uint64_t>(time) : 0;
  }
  [[nodiscard]] Seed fresh_seed() override {
    Seed seed;
    random_.fill(seed);
    return seed;
  }

 private:
  SecureRandom random_;
};

}  // namespace prophecy::pbft
