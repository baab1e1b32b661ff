// Of how many of somebody's answers evidence is written: so many at once, then one in each
// interval. All are counted; but whoever lies in each answer does not choose how much is written of
// it.
//
// Deterministic; not thread-safe. Time never goes back from call to call.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"

namespace prophecy::sketcher {

// Of the answers of one origin: as many as the master keeps, and a pace that a log bears.
constexpr std::uint32_t kReportsAtOnce = 1000;
constexpr Duration kReportInterval = milliseconds(100);

class ReportRate {
 public:
  ReportRate(std::uint32_t at_once, Duration interval)
      : interval_(interval), ahead_max_(at_once * interval) {}

  // Whether one may be written now.
  [[nodiscard]] bool take(TimePoint now) {
    const TimePoint paid_until = std::max(paid_until_, now) + interval_;
    if (paid_until - now > ahead_max_) return false;
    paid_until_ = paid_until;
    return true;
  }

 private:
  Duration interval_;
  Duration ahead_max_;
  TimePoint paid_until_{};  // by the time that has passed until then
};

}  // namespace prophecy::sketcher
