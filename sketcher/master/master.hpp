// The master process: opens the listeners, makes the shared memory, forks the workers, watches and
// replaces them, drains them on TERM and INT, and answers operators (admin socket, metrics). It
// handles no client byte.
#pragma once

#include "base/log.hpp"
#include "sketcher/installation/installation.hpp"

namespace prophecy::sketcher {

// Runs until it is told to stop. Yields the exit status of the process; an error is one that kept
// it from starting.
[[nodiscard]] Result<int> run_master(const Installation& installation, Logger& log);

}  // namespace prophecy::sketcher
