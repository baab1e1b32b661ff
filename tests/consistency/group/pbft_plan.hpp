// What a real group of a simulated run is like, drawn from the run's seed: its settings, and the
// faults of its network.
#pragma once

#include "consistency/settings.hpp"
#include "pbft/core/state/settings.hpp"
#include "simulation/scenario.hpp"

namespace prophecy::consistency {

[[nodiscard]] simulation::Scenario plan_group(std::uint64_t seed, const RunSettings& settings);
[[nodiscard]] pbft::ClientSettings plan_client(const simulation::Scenario& scenario,
                                               const RunSettings& settings);
[[nodiscard]] Duration plan_deadline(const RunSettings& settings);

}  // namespace prophecy::consistency
