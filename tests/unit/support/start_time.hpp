// The time at which tests with a clock of their own begin.
#pragma once

#include <chrono>

#include "base/clock.hpp"

namespace prophecy::test {

constexpr TimePoint kStart = TimePoint(std::chrono::hours(10));

}  // namespace prophecy::test
