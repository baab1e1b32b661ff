// `ServicePace` says what a primary whose own service is at work has in flight.
//
// Such a primary goes on no faster than its service: what it has not executed is in flight. But the
// batches with which its view began may have been executed by all others long ago, and a primary
// that first caught up with them would let requests wait meanwhile. They are not in flight once
// they are agreed on. From then on the primary proposes one batch more for each two that it
// executes, until it has caught up.
#pragma once

#include <algorithm>
#include <cstdint>

namespace prophecy::pbft {

struct ServicePace {
  std::uint64_t ordered = 0;           // the last batch that this replica has executed
  std::uint64_t ordered_at_entry = 0;  // likewise, when the view began
  std::uint64_t chosen_until = 0;      // the last batch with which the view began
  std::uint64_t agreed = 0;            // up to it all batches are committed, or stable

  // Nothing up to it is in flight.
  [[nodiscard]] std::uint64_t done() const {
    const std::uint64_t executed = ordered - std::min(ordered, ordered_at_entry);
    return std::max(ordered, std::min(agreed, chosen_until + executed / 2));
  }
};

}  // namespace prophecy::pbft
