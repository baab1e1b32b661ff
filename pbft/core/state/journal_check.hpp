// Whether what a store holds could have been written by a replica of a group of this size, so that
// the rest of the core may rely on it. Not whether it is true: signatures are not checked again,
// since the keys that a group's file lists may have changed since then.
#pragma once

#include <vector>

#include "pbft/core/state/journal.hpp"
#include "pbft/wire/view_change.hpp"

namespace prophecy::pbft {

// The messages that its view began with. They look into `remembered`. None when that is not known:
// then it has not voted in that view.
[[nodiscard]] std::vector<ViewChangeMessage> entered_with(const Remembered& remembered,
                                                          std::uint32_t replicas);

[[nodiscard]] bool is_plausible(const Remembered& remembered, std::uint32_t replicas);

}  // namespace prophecy::pbft
