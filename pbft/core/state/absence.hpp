// `absence` tells for how long a replica has not run, though it wanted to: its machine was halted,
// or had no processor for it. What it waited for may have come meanwhile, and lies unread, or may
// have been halted as well. So that time is no time of waiting: no primary is given up for it.
#pragma once

#include <algorithm>

#include "base/clock.hpp"

namespace prophecy::pbft {

// For so long an ordinary machine may keep a process waiting that wants to run.
inline constexpr Duration kAbsenceMin = milliseconds(50);

// How long a replica has not run whose timer was to go off at `due`, and that runs at `now`.
[[nodiscard]] inline Duration absence(TimePoint due, TimePoint now) {
  return due < now - kAbsenceMin ? now - due : Duration{};
}

// The instant from which something has waited, without the time in between that does not count.
[[nodiscard]] inline TimePoint later(TimePoint since, Duration left_out, TimePoint now) {
  return std::min(since + left_out, std::max(since, now));
}

}  // namespace prophecy::pbft
