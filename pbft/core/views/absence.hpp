// `absence` tells for how long a replica has not run, though it wanted to: its machine was halted,
// or had no processor for it. What it waited for may have come meanwhile, and lies unread, or may
// have been halted as well. So that time is no time of waiting: no primary is given up for it.
#pragma once

#include "base/clock.hpp"

namespace prophecy::pbft {

// What an ordinary machine does to a process that wants to run.
inline constexpr Duration kAbsenceMin = milliseconds(50);

// Of a replica whose timer was to go off at `due`, and that runs again at `now`.
[[nodiscard]] inline Duration absence(TimePoint due, TimePoint now) {
  return due < now - kAbsenceMin ? now - due : Duration{};
}

}  // namespace prophecy::pbft
