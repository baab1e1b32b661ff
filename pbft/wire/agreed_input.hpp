// What a service must not take from its own clock or its own random numbers, because replicas
// would then differ: a time and a seed, which the primary proposes with each batch (OSDI 1999,
// section 4.6). Both are under the batch's digest, so whoever agrees on a batch agrees on them.
//
// Agreed, and nothing more: the primary chooses the seed and all replicas know it. It makes no
// keys, and decides nothing that a primary must not decide.
#pragma once

#include <array>
#include <cstdint>

#include "base/digest.hpp"

namespace prophecy::pbft {

using Seed = std::array<std::uint8_t, 32>;

struct AgreedInput {
  std::uint64_t time = 0;  // nanoseconds since 1970-01-01 00:00 UTC
  Seed seed{};

  friend bool operator==(const AgreedInput&, const AgreedInput&) = default;
};

// The end of what a batch's digest is over, behind the digests of its requests.
void append_to_batch(Sha256& batch, const AgreedInput& input);

// What one request of a batch gets, so that no two get the same: HKDF-Expand with SHA-256 (RFC
// 5869), the batch's seed as key, and as info the purpose and the index (u16).
[[nodiscard]] Seed seed_of_request(const Seed& batch, std::uint16_t index);

}  // namespace prophecy::pbft
