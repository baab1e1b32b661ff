#include "sketcher/core/read/sigma_clock.hpp"

#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

namespace prophecy::sketcher {
namespace {

struct Made {
  Sigma sigma = 0;
  std::uint64_t at_ms = 0;
};

}  // namespace

TEST_CASE("Before the first sample nothing is known, and of what is older only how old at least") {
  SigmaClock clock;
  CHECK_FALSE(clock.age_of(7, 1000));
  clock.sample(1000, 50);
  const auto age = clock.age_of(50, 4000);
  REQUIRE(age);
  CHECK(age->at_least_ms == 3000);
  CHECK_FALSE(age->at_most_ms);
  // Newer than the last sample.
  const auto newer = clock.age_of(51, 4000);
  REQUIRE(newer);
  CHECK(newer->at_least_ms == 0);
  CHECK(newer->at_most_ms == 3000);
}

TEST_CASE("While nothing is ordered, the last sample that saw nothing counts") {
  SigmaClock clock;
  clock.sample(0, 10);
  for (std::uint64_t now = 1000; now <= 100'000; now += 1000)
    clock.sample(now, 10);
  clock.sample(101'000, 20);
  const auto age = clock.age_of(15, 101'000);
  REQUIRE(age);
  CHECK(age->at_least_ms == 0);
  CHECK(age->at_most_ms == 1000);
  CHECK(clock.points() == 2);
}

TEST_CASE("When it is full, all goes that its age makes too fine, but the oldest and the newest") {
  SigmaClock clock;
  for (std::uint64_t at = 0; at < SigmaClock::kPointsMax; ++at)
    clock.sample(at, 1 + at);
  REQUIRE(clock.points() == SigmaClock::kPointsMax);
  clock.sample(10'000'000, 1 + SigmaClock::kPointsMax);
  CHECK(clock.points() == 3);
  const auto age = clock.age_of(1 + SigmaClock::kPointsMax / 2, 10'000'000);
  REQUIRE(age);
  CHECK(age->at_least_ms == 10'000'000 - (SigmaClock::kPointsMax - 1));
  CHECK(age->at_most_ms == 10'000'000);
}

TEST_CASE("Ages are right, to one percent or the interval, however long it has run") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 engine(seed);
    SigmaClock clock;
    std::vector<Made> made;
    Sigma newest = 1;
    std::uint64_t now = 5'000;
    const std::uint64_t first = now;
    for (int second = 0; second < 200'000; ++second, now += 1000) {
      if (engine() % 4 != 0) {  // else a quiet second
        newest += 1 + engine() % 1000;
        if (engine() % 8 == 0) made.push_back({newest, now - engine() % 999});
      }
      clock.sample(now, newest);
      REQUIRE(clock.points() <= SigmaClock::kPointsMax);
    }
    for (const Made& each : made) {
      const auto age = clock.age_of(each.sigma, now);
      REQUIRE(age);
      const std::uint64_t truth = now - each.at_ms;
      REQUIRE(age->at_least_ms <= truth);
      if (each.at_ms <= first) continue;
      REQUIRE(age->at_most_ms);
      REQUIRE(*age->at_most_ms >= truth);
      const auto width = static_cast<double>(*age->at_most_ms - age->at_least_ms);
      REQUIRE(width <= std::max(2000.0, 0.01 * static_cast<double>(truth)));
    }
  }
}

}  // namespace prophecy::sketcher
