// What a sketch is, apart from how one is made: the history table and whoever only hands
// sketches on need no more than this.
#pragma once

#include <array>
#include <cstdint>

namespace prophecy::sketch {

// 160 bits. Equal sketches stand for equal canonical forms: with the strength of 160 bits from an
// HMAC, of 128 bits from a GMAC (DigestKind).
using Sketch = std::array<std::uint8_t, 20>;

}  // namespace prophecy::sketch
