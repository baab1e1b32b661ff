// Bounds which share of a worker's reads may go to the group because they are blacklisted
// automatically: were the estimates wrong, or led astray by somebody, the group would get no more
// than that. What is beyond it is read like any other, at the price of one origin's work.
//
// Deterministic, single-threaded.
#pragma once

#include <algorithm>

namespace prophecy::sketcher {

class AvoidanceCredit {
 public:
  static constexpr double kShareMax = 0.5;
  static constexpr double kBurst = 256;

  // For each read, before take().
  void on_read() { credit_ = std::min(credit_ + kShareMax, kBurst); }
  [[nodiscard]] bool take() {
    if (credit_ < 1) return false;
    credit_ -= 1;
    return true;
  }

 private:
  double credit_ = kBurst;
};

}  // namespace prophecy::sketcher
