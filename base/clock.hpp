// Time as the cores see it: a value that is handed in. Only programs and I/O shells read a clock.
#pragma once

#include <chrono>

namespace prophecy {

using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

}  // namespace prophecy
