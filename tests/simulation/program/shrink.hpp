// Reduces a scenario that fails to a few of its ingredients that still make it fail: delta
// debugging (Zeller and Hildebrandt, 2002, the algorithm ddmin).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace prophecy::simulation {

using Numbers = std::vector<std::uint32_t>;

// Requires fails(all). The result fails, and without any single one of its numbers it does not,
// unless that took more than `tries_max` tries.
[[nodiscard]] Numbers shrink(const Numbers& all, const std::function<bool(const Numbers&)>& fails,
                             std::uint32_t tries_max);

}  // namespace prophecy::simulation
