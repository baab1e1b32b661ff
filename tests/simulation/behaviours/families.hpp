// The behaviours, by what they do to a message; make_behaviour() chooses among them.
#pragma once

#include "simulation/behaviours/behaviour.hpp"

namespace prophecy::simulation {

using BehaviourPointer = std::unique_ptr<Behaviour>;

// silence.cpp
BehaviourPointer make_silent();
BehaviourPointer make_mute();
BehaviourPointer make_withholding(Villain villain);
BehaviourPointer make_slow(Villain villain);
BehaviourPointer make_censoring(Villain villain);
// noise.cpp
BehaviourPointer make_selective_macs(Villain villain);
BehaviourPointer make_garbage(Villain villain);
BehaviourPointer make_replaying(Villain villain);
BehaviourPointer make_flooding(Villain villain);
// proposals.cpp
BehaviourPointer make_equivocating(Villain villain);
BehaviourPointer make_ordering_junk(Villain villain);
BehaviourPointer make_false_times(Villain villain);
// statements.cpp
BehaviourPointer make_lying_votes(Villain villain);
BehaviourPointer make_stale_views(Villain villain);
BehaviourPointer make_lying_checkpoints(Villain villain);
BehaviourPointer make_lying_status(Villain villain);
BehaviourPointer make_absurd_status(Villain villain);
BehaviourPointer make_claiming_behind(Villain villain);
BehaviourPointer make_lying_replies(Villain villain);
// view_changes.cpp
BehaviourPointer make_forged_view_changes(Villain villain);
BehaviourPointer make_forged_new_views(Villain villain);
BehaviourPointer make_doubled_voices(Villain villain);
// rejoining.cpp
BehaviourPointer make_lying_pledges(Villain villain);
BehaviourPointer make_lying_silence(Villain villain);
// coherent.cpp
BehaviourPointer make_live_lies(Villain villain);
BehaviourPointer make_conspiring(Villain villain);
// mutating.cpp
BehaviourPointer make_mutating(Villain villain);
// keys.cpp
BehaviourPointer make_lying_keys(Villain villain);
// uncertain.cpp
BehaviourPointer make_lying_states(Villain villain);
// bodies.cpp
BehaviourPointer make_false_holder(Villain villain);
// state_transfer.cpp
BehaviourPointer make_lying_roots(Villain villain);
BehaviourPointer make_siding_roots(Villain villain);
BehaviourPointer make_false_parts(Villain villain);

}  // namespace prophecy::simulation
