// Work in a process of its own, so that an assertion that fails or a call that never returns ends
// that process and not this one.
#pragma once

#include <functional>
#include <string>

#include <sys/types.h>

namespace prophecy::simulation {

// Of processor time: a run that takes more does not end at all, sanitizers included. How busy the
// machine is, or whether it is stopped for a while, does not matter.
constexpr unsigned kRunSecondsMax = 300;

// Must not be called while threads run. What the child writes to its output buffers is its own.
[[nodiscard]] pid_t start_child(const std::function<void()>& work);

// In a child: it ends by a signal unless this is called again in time.
void set_watchdog();

// Empty, or how the child ended that did not end well.
[[nodiscard]] std::string describe_end(int status);

}  // namespace prophecy::simulation
