#include "measurement/observation_log.hpp"

#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

namespace prophecy::measurement {

TEST_CASE("observations come out in order, from memory and from files alike") {
  std::mt19937 random(GENERATE(1));
  for (const std::size_t held_max : {10'000, 100, 7}) {
    ObservationLog log("/tmp", held_max);
    std::vector<Observation> all;
    for (std::uint64_t i = 0; i < 3000; ++i) {
      Observation observation;
      observation.url = static_cast<UrlNumber>(random() % 20);
      observation.time = static_cast<Microseconds>(random() % 50);
      observation.sequence = i;
      observation.body_bytes = random();
      all.push_back(observation);
      REQUIRE(log.append(observation).has_value());
    }
    std::sort(all.begin(), all.end(),
              [](const Observation& one, const Observation& other) { return one.before(other); });
    std::size_t next = 0;
    const auto outcome = log.for_each([&](const Observation& observation) {
      REQUIRE(next < all.size());
      REQUIRE(observation.sequence == all[next].sequence);
      REQUIRE(observation.body_bytes == all[next].body_bytes);
      ++next;
    });
    REQUIRE(outcome.has_value());
    CHECK(next == all.size());
  }
}

TEST_CASE("no observations at all") {
  ObservationLog log("/tmp");
  CHECK(log.for_each([](const Observation&) { FAIL("there is none"); }).has_value());
}

TEST_CASE("a folder that is not there is an error once the file is needed") {
  ObservationLog log("/nonexistent", 1);
  REQUIRE(log.append({}).has_value());
  CHECK_FALSE(log.append({}).has_value());
}

}  // namespace prophecy::measurement
