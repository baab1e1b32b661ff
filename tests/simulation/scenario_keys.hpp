// Scenes in which a replica's key is replaced under load, and somebody may have the old one.
#pragma once

#include "simulation/scenario.hpp"

namespace prophecy::simulation {

void set_new_keys_scene(Scenario& scenario);

}  // namespace prophecy::simulation
