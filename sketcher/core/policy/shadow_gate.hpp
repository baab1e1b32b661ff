// What one shadow is given: never more copies at a time than `copies_max`; none for a while after
// it has failed, twice as long each time up to kPauseMax; and then one copy alone until it answers.
// And of how many of its answers evidence is written: kReportsSaved at once, then one in
// kReportInterval, for a shadow may differ in every answer.
//
// Deterministic; not thread-safe. Time never goes back from call to call.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "sketcher/core/policy/report_rate.hpp"

namespace prophecy::sketcher {

class ShadowGate {
 public:
  static constexpr Duration kPauseMin = seconds(1);
  static constexpr Duration kPauseMax = seconds(30);
  static constexpr std::uint32_t kReportsSaved = 10;
  static constexpr Duration kReportInterval = seconds(10);

  explicit ShadowGate(std::size_t copies_max) : copies_max_(copies_max) {}

  // Nothing may be sent now, whatever the time is.
  [[nodiscard]] bool is_full() const {
    const bool on_trial = pause_ != Duration{};
    return copies_ >= (on_trial ? 1 : copies_max_);
  }
  // Whether a copy may be sent now, which ends in on_end() then.
  [[nodiscard]] bool admit(TimePoint now) {
    if (is_full() || now < pause_end_) return false;
    ++copies_;
    return true;
  }
  void on_end(bool answered, TimePoint now) {
    ASSERT(copies_ > 0);
    --copies_;
    if (answered) {
      pause_ = Duration{};
      pause_end_ = TimePoint{};
    } else if (now >= pause_end_) {  // else it is one of those that failed together
      pause_ = std::clamp(2 * pause_, kPauseMin, kPauseMax);
      pause_end_ = now + pause_;
    }
  }

  [[nodiscard]] bool may_report(TimePoint now) { return reports_.take(now); }

 private:
  std::size_t copies_max_;
  std::size_t copies_ = 0;  // under way
  Duration pause_{};        // the last one; zero once it has answered
  TimePoint pause_end_{};
  ReportRate reports_{kReportsSaved, kReportInterval};
};

}  // namespace prophecy::sketcher
