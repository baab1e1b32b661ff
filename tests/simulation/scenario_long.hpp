// Scenes of hours of virtual time: little happens at any moment, and faults
// come again and again, so that what leaks, is never erased, or grows with each fault gets large.
#pragma once

#include "simulation/scenario.hpp"

namespace prophecy::simulation {

[[nodiscard]] bool is_long(std::uint64_t seed);
// Keeps the settings.
void set_long_scene(Scenario& scenario);

}  // namespace prophecy::simulation
