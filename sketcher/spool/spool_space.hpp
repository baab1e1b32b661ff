// How much the files of all workers may hold together. Each worker counts what is its own in shared
// memory, so that what a worker held that was killed counts no more once it is replaced.
//
// One object a worker.
#pragma once

#include <cstdint>

#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

class SpoolSpace {
 public:
  SpoolSpace(const SharedState& shared, SpoolCounters& own, std::uint64_t bytes_max)
      : shared_(shared), own_(own), bytes_max_(bytes_max) {}

  // False when there is no room. Of two workers that take the last of it at once, both may fail.
  [[nodiscard]] bool take(std::uint64_t bytes);
  // Less than an eighth is left of it, or of the files that this worker may have.
  [[nodiscard]] bool is_short() const;

 private:
  [[nodiscard]] std::uint64_t taken() const;

  const SharedState& shared_;
  SpoolCounters& own_;
  std::uint64_t bytes_max_;
};

}  // namespace prophecy::sketcher
