// `next_view` is the view that should follow the newest one: those who have announced themselves
// are its members. A pure function, so that members which know the same propose the same; who of
// them is first does not matter, since views are changed by compare-and-set.
//
// That a member is suspected wrongly is harmless. It loses its partitions once it knows, and has
// them back with the next view; nobody begins before it has stopped.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dht/core/fence.hpp"
#include "dht/core/view.hpp"

namespace prophecy::dht {

// By name.
using Announced = std::map<std::string, Member, std::less<>>;

// Nothing: no change is due. Without `newest`, the first view, whose number is `first`. Without
// anybody who has a weight, none.
[[nodiscard]] std::optional<View> next_view(const View* newest, const Parameters& parameters,
                                            const Announced& announced, const Sightings& sightings,
                                            ViewNumber first = 1);

// Each member of the view has seen all former holders of its partitions stopped.
[[nodiscard]] bool is_settled(const View& view, const Sightings& sightings);

}  // namespace prophecy::dht
