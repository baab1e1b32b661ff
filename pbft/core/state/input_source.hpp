// Where a replica's proposals of time and seed come from, and the time by which it judges those of
// others: the shell's wall clock and generator, or a simulator's. The core has neither itself.
#pragma once

#include <cstdint>

#include "pbft/wire/agreed_input.hpp"

namespace prophecy::pbft {

class InputSource {
 public:
  virtual ~InputSource() = default;
  // Nanoseconds since 1970-01-01 00:00 UTC; may be set back by whoever sets clocks.
  [[nodiscard]] virtual std::uint64_t wall_time() = 0;
  [[nodiscard]] virtual Seed fresh_seed() = 0;
};

}  // namespace prophecy::pbft
