// `BootTime` is an instant of CLOCK_BOOTTIME: it goes on while the machine sleeps, and no operator
// sets it. Leases are measured by it alone. A type of its own, so that no time of another clock is
// compared with it by mistake. It has no now(): the time is handed in.
#pragma once

#include <chrono>

namespace prophecy::dht {

struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
};

using BootTime = BootClock::time_point;
using Span = BootClock::duration;

}  // namespace prophecy::dht
