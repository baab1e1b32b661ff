// `SystemBootTimer` reads the machine's CLOCK_BOOTTIME. For any thread.
#pragma once

#include <ctime>

#include "base/assert.hpp"
#include "sketcher/core/read/acceptance.hpp"

namespace prophecy::sketcher {

struct SystemBootTimer final : BootTimer {
  [[nodiscard]] dht::BootTime now() override {
    timespec time{};
    const int failed = ::clock_gettime(CLOCK_BOOTTIME, &time);
    ASSERT(failed == 0);
    return dht::BootTime(std::chrono::seconds(time.tv_sec) +
                         std::chrono::nanoseconds(time.tv_nsec));
  }
};

}  // namespace prophecy::sketcher
