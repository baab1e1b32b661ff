// How many proposals a backup has taken up, and how many of them late, by which a primary is judged
// (pbft/core/views/left_out.hpp).
#pragma once

#include <cstdint>

#include "base/clock.hpp"

namespace prophecy::pbft {

struct TakenProposals {
  // After another backup's vote: for the way from the primary, and a write on the disk.
  static constexpr Duration kLateAfter = milliseconds(25);

  std::uint64_t all = 0;
  std::uint64_t late = 0;  // and agreement had to wait for this replica
  // Likewise, and behind a frame in which the primary names this number, or a later one. A link
  // keeps frames in their order: the primary did not send the proposal when it made it.
  std::uint64_t overtaken = 0;
};

}  // namespace prophecy::pbft
