// What all members of a ring have to have in common, as this installation has it.
#pragma once

#include "dht/core/view.hpp"
#include "sketcher/installation/installation.hpp"

namespace prophecy::sketcher {

// Tells nothing of the secret. Requires a living ring.
[[nodiscard]] dht::Parameters ring_parameters(const Installation& installation);

// This process's life as a member: a new instance, drawn at random.
[[nodiscard]] dht::Member ring_member(const RingSettings& settings);

// Whether answers have the numbers of one order, which are the same at all members. Otherwise each
// member counts for itself.
[[nodiscard]] bool shares_numbers(const Settings& settings);

// Whether a group has an order at all.
[[nodiscard]] bool has_order(const Settings& settings);

}  // namespace prophecy::sketcher
