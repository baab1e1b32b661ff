// An encoded, authenticated message.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.hpp"

namespace prophecy::pbft {

// Encoded once, sent to any number of nodes.
using Frame = std::shared_ptr<const Bytes>;

// (batch sequence number << 16) | index in the batch. 62 bits.
using Sigma = std::uint64_t;

}  // namespace prophecy::pbft
