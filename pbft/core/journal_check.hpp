// Whether what a store holds could have been written by a replica of a group of this size, so that
// the rest of the core may rely on it. Not whether it is true: signatures are not checked again,
// since the keys that a group's file lists may have changed since then.
#pragma once

#include "pbft/core/journal.hpp"

namespace prophecy::pbft {

[[nodiscard]] bool is_plausible(const Remembered& remembered, std::uint32_t replicas);

}  // namespace prophecy::pbft
