// An event loop that runs until something is true.
#pragma once

#include <functional>

#include <boost/asio/io_context.hpp>

#include "base/clock.hpp"

namespace prophecy::test {

// True when the condition came true in time.
#ifdef __SANITIZE_THREAD__
inline constexpr Duration kPatience = seconds(80);
#else
inline constexpr Duration kPatience = seconds(10);
#endif

inline bool run_until(boost::asio::io_context& io, const std::function<bool()>& condition,
                      Duration timeout = kPatience) {
  const TimePoint end = std::chrono::steady_clock::now() + timeout;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    io.restart();
    io.run_one_for(milliseconds(5));
  }
  return true;
}

inline void run_for(boost::asio::io_context& io, Duration time) {
  (void)run_until(
      io, [] { return false; }, time);
}

}  // namespace prophecy::test
