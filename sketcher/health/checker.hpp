// The checker's work: asks every origin of every group with checks in turn, and tells the master
// how each check ended. It is a process of its own: origins are hostile, so neither the master
// reads their bytes, nor does each worker ask them again.
#pragma once

#include "base/log.hpp"
#include "base/unique_fd.hpp"
#include "sketcher/installation/installation.hpp"
#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

[[nodiscard]] bool has_checks(const Settings& settings);

// Runs until TERM or INT. `channel` takes a CheckReport each.
void run_checker(const Installation& installation, const SharedState& shared, UniqueFd channel,
                 Logger& log);

}  // namespace prophecy::sketcher
