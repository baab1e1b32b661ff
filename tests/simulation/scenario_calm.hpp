// Scenes on a network that works, with machines that do: what goes wrong is what f faulty replicas
// do from the beginning on, and what honestly differs between the others. There, more can be asked
// of the group.
#pragma once

#include "simulation/scenario.hpp"

namespace prophecy::simulation {

// Makes such a scene of a share of the seeds, and of some more one in which the faulty replicas
// change; leaves the others as they are.
void set_scene(Scenario& scenario);
// Nothing goes wrong yet.
void set_calm_scene(Scenario& scenario);
// No replica is faulty, and clients are; `has_large_bodies` in megabytes, some of them given to one
// replica alone.
void set_fair_scene(Scenario& scenario, bool has_large_bodies);
// Likewise, two clients ask for more than the group can order, and the primary's queue is short.
void set_greedy_scene(Scenario& scenario);
// f replicas lie, lose their memory and are correct from then on; then f others lie.
void set_changing_scene(Scenario& scenario);
// All replicas read many frames in one turn, and nothing else is unusual.
void set_turns_scene(Scenario& scenario);
// All machines stand still at once, now and then, as on one host, and nothing else is unusual.
void set_halted_scene(Scenario& scenario);
// The services of many replicas are away for a while, and lose their states.
void set_absent_scene(Scenario& scenario);
// The services of correct replicas differ, beside a replica that sides with one of them.
void set_noisy_scene(Scenario& scenario);

}  // namespace prophecy::simulation
