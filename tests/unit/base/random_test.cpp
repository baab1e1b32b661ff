#include "base/random.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

namespace prophecy {

TEST_CASE("numbers stay below their bound and reach all of it") {
  SecureRandom random;
  for (const std::uint32_t bound : {1u, 2u, 3u, 4u, 7u}) {
    std::array<int, 7> seen{};
    for (int i = 0; i < 7000; ++i) {
      const std::uint32_t number = random.below(bound);
      REQUIRE(number < bound);
      ++seen[number];
    }
    // A fair generator misses these bounds once in more than 10^20 runs.
    const int expected = 7000 / static_cast<int>(bound);
    for (std::uint32_t i = 0; i < bound; ++i) {
      CHECK(seen[i] > expected / 2);
      CHECK(seen[i] < expected + expected / 2 + 1);
    }
  }
  for (int i = 0; i < 1000; ++i)
    REQUIRE(random.below(0x80000001u) < 0x80000001u);
}

TEST_CASE("two fills differ") {
  SecureRandom random;
  std::array<std::uint8_t, 32> one{};
  std::array<std::uint8_t, 32> other{};
  random.fill(one);
  random.fill(other);
  CHECK(one != other);
}

}  // namespace prophecy
