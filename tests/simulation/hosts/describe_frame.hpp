// A frame as one readable line: its kind, whom it names as its sender, and its fields, digests cut
// to six digits.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.hpp"

namespace prophecy::simulation {

[[nodiscard]] std::string describe_frame(ByteView frame, std::uint32_t replicas);

}  // namespace prophecy::simulation
