// When a sigma was the newest of its group: a log of (sigma, time), so that no entry of the history
// needs a word for its age. The older what it tells of, the coarser: its resolution is the interval
// of sampling, or about one percent of the age, whichever is more. Bounded.
//
// Deterministic: time comes in, in milliseconds of a clock that does not go back. Single-threaded.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "history_table/history_entry.hpp"

namespace prophecy::sketcher {

class SigmaClock {
 public:
  static constexpr std::size_t kPointsMax = 8192;
  // What a gap between neighbours may be, of its age.
  static constexpr double kResolution = 0.01;

  // The newest sigma of the group, at this time. Requires that neither is less than before.
  void sample(std::uint64_t now_ms, Sigma newest);

  struct Age {
    std::uint64_t at_least_ms = 0;
    std::optional<std::uint64_t> at_most_ms;  // nothing: older than the log
  };
  // Of an answer with this sigma. Nothing before the first sample.
  [[nodiscard]] std::optional<Age> age_of(Sigma sigma, std::uint64_t now_ms) const;

  [[nodiscard]] std::size_t points() const { return points_.size(); }

 private:
  // The newest sigma was this one from the first sample on that saw it to the last.
  struct Point {
    Sigma sigma = 0;
    std::uint64_t first_ms = 0;
    std::uint64_t last_ms = 0;
  };
  void thin_out(std::uint64_t now_ms);

  std::vector<Point> points_;  // oldest first; sigmas rise
};

}  // namespace prophecy::sketcher
