// The paper's staleness indicator (section 4.1) as far as clients can tell.
#pragma once

#include <cstddef>

#include "consistency/history.hpp"

namespace prophecy::consistency {

// Reads that are stale however the instants are chosen: before they were sent, a write was answered
// that was sent after the one they returned had been answered.
[[nodiscard]] std::size_t count_stale_reads(const History& history);

}  // namespace prophecy::consistency
