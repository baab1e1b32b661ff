// `DynamicData` sums up how the bodies on either side of transitions differ: section 8.2 of the
// paper.
//
// No I/O. A plain value.
#pragma once

#include <array>
#include <cstdint>

#include "measurement/analysis/rabin_chunks.hpp"

namespace prophecy::measurement {

// Why the bodies of a transition were not compared.
enum class NotCompared : std::uint8_t {
  no_body,       // one of them is not in the inputs at that place: a revisit
  too_large,     // larger than what is kept of an answer
  spool_full,    // the earlier one was overwritten
  out_of_order,  // the inputs have the later answer first
};
inline constexpr std::array kNotComparedNames = {"no_body", "too_large", "spool_full",
                                                 "out_of_order"};

struct DynamicData {
  std::uint64_t compared = 0;
  std::uint64_t equal_bodies = 0;           // of these: only status or fields differ
  std::uint64_t differs_in_30_percent = 0;  // in at least 30 % of the chunks
  std::uint64_t all_differs = 0;            // no chunk in common
  std::uint64_t one_edit = 0;
  std::uint64_t one_strict_edit = 0;
  std::array<std::uint64_t, 101> by_share{};  // whole percent of chunks that differ, rounded down
  std::array<std::uint64_t, kNotComparedNames.size()> not_compared{};

  void add(const BodyDifference& difference);
  void add(NotCompared reason) { ++not_compared[static_cast<std::size_t>(reason)]; }
  // The share of the compared ones.
  [[nodiscard]] double share_of(std::uint64_t count) const {
    return compared == 0 ? 0 : static_cast<double>(count) / static_cast<double>(compared);
  }
};

}  // namespace prophecy::measurement
