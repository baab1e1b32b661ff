// `start_thread` starts a thread for a shell, or says why the system has none to give.
//
// std::thread throws where a process, its user or its unit has as many threads as it may: an agent
// that nobody catches it for is aborted.
#pragma once

#include <functional>
#include <system_error>
#include <thread>

#include "base/error.hpp"

namespace prophecy {

// Puts a thread into `thread`, where none is. It takes no signals: they are for the event loop's.
// ErrorKind::unavailable: a later try may succeed.
[[nodiscard]] Result<> start_thread(std::thread& thread, std::function<void()> run);
// That error, for what a library below has thrown when it started a thread of its own.
[[nodiscard]] Error no_thread(const std::system_error& error);

}  // namespace prophecy
