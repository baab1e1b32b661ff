// `Steps` says which steps of the members' protocol a process speaks.
//
// A step is a number that names all that members say to each other: hand-over, forwarding, and
// what each may rely on of the others. A build that changes any of that speaks one step more, and
// goes on to speak the one before: so a ring of the former build is exchanged for the next one,
// member by member, and back. A view names the newest step that all its members speak; they go by
// it while the view lasts. What was said under the view before may arrive yet: who speaks a step
// takes messages of that one too.
//
// The texts of nodes (view.hpp) are the same at each step: an older build has to read who the
// members of a newer view are, and what they may hold, to follow it once they have left.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace prophecy::dht {

using Step = std::uint32_t;
constexpr Step kStepMax = 1'000'000;

struct Steps {
  Step oldest = 1;
  Step newest = 1;

  [[nodiscard]] bool speaks(Step step) const { return oldest <= step && step <= newest; }
  // Nothing: the two have no step in common.
  [[nodiscard]] std::optional<Steps> shared_with(const Steps& other) const {
    const Steps shared{std::max(oldest, other.oldest), std::min(newest, other.newest)};
    return shared.oldest <= shared.newest ? std::optional(shared) : std::nullopt;
  }
  bool operator==(const Steps&) const = default;
};

// Those of this build.
[[nodiscard]] Steps own_steps();

}  // namespace prophecy::dht
