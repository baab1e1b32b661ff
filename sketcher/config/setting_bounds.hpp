// Between these lies every time that a configuration may give.
#pragma once

#include "base/clock.hpp"

namespace prophecy::sketcher {

constexpr Duration kDurationMin = milliseconds(10);
constexpr Duration kDurationMax = std::chrono::hours(1);

}  // namespace prophecy::sketcher
