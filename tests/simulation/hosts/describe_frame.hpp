// A frame as one readable line: its kind, whom it names as its sender, and its fields, digests cut
// to six digits.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.hpp"
#include "pbft/wire/frame.hpp"

namespace prophecy::simulation {

[[nodiscard]] std::string describe_frame(ByteView frame, std::uint32_t replicas);

// A request's place in the order: its batch and its index there.
[[nodiscard]] std::string place(pbft::Sigma sigma);

}  // namespace prophecy::simulation
