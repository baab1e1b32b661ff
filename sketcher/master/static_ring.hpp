// A ring whose members are configured: their list never changes, so each owner is known from the
// start, and leases have no end.
#pragma once

#include "sketcher/config/ring_settings.hpp"
#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

// Says so in shared memory, which is new. A member's slot is its place in the settings' list.
void set_up_static_ring(const RingSettings& ring, const SharedState& shared);

}  // namespace prophecy::sketcher
