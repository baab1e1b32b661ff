// The time of day in microseconds, as answers and logs are stamped with it.
#pragma once

#include <chrono>

#include "measurement/input/timestamp.hpp"

namespace prophecy::measurement {

inline Microseconds wall_clock() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace prophecy::measurement
