// Results that every replica sends as they are, whoever was asked for the result: not worth a
// digest.
#pragma once

#include <cstddef>

namespace prophecy::pbft {

constexpr std::size_t kAlwaysFullBytes = 256;

}  // namespace prophecy::pbft
