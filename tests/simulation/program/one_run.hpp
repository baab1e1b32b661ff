// One run in a process of its own, so that a run that crashes is one that failed.
#pragma once

#include <string>

#include "simulation/scenario.hpp"

namespace prophecy::simulation {

// The violation, or how the process ended; empty when all checks held.
[[nodiscard]] std::string run_apart(const Scenario& scenario, bool trace);

}  // namespace prophecy::simulation
