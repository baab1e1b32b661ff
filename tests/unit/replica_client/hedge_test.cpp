#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "replica_client/core/hedge/hedge_policy.hpp"

namespace prophecy::replica_client {
namespace {

constexpr std::uint32_t kFaults = 2;
constexpr std::uint32_t kOrigins = 3 * kFaults + 1;

void feed(HedgePolicy& policy, NodeId origin, Duration latency) {
  for (int i = 0; i < 200; ++i)
    policy.on_latency(origin, latency);
}

HedgePolicy usual_group() {
  HedgePolicy policy(kOrigins, kFaults);
  for (NodeId origin = 0; origin < kOrigins; ++origin)
    feed(policy, origin, milliseconds(10));
  return policy;
}

// As of now: it is looked up now and then only.
std::optional<Duration> delay_of(HedgePolicy& policy) {
  std::optional<Duration> delay;
  for (int i = 0; i < 100; ++i)
    delay = policy.on_read();
  return delay;
}

}  // namespace

TEST_CASE("Few samples say nothing about latency") {
  LatencyQuantile latency;
  for (std::uint32_t i = 1; i < LatencyQuantile::kNeeded; ++i)
    latency.add(milliseconds(1));
  CHECK_FALSE(latency.quantile(0.95).has_value());
  latency.add(milliseconds(1));
  CHECK(latency.quantile(0.95).has_value());
}

TEST_CASE("A quantile is that of a sorted list, to a quarter") {
  const unsigned seed = GENERATE(1U, 2U, 3U, 4U);
  INFO("seed " << seed);
  std::mt19937 random(seed);
  LatencyQuantile latency;
  std::vector<std::int64_t> all;
  for (std::uint32_t i = 0; i + 1 < LatencyQuantile::kKept; ++i) {
    all.push_back(static_cast<std::int64_t>(random() >> (random() % 31)) % 16'000'000);
    latency.add(microseconds(all.back()));
  }
  std::sort(all.begin(), all.end());
  for (const double part : {0.0, 0.25, 0.5, 0.9, 0.95, 0.99, 1.0}) {
    const auto place = static_cast<std::size_t>(
        std::max(0.0, std::ceil(part * static_cast<double>(all.size())) - 1));
    const std::int64_t exact = all[place];
    const std::int64_t found =
        std::chrono::duration_cast<microseconds>(*latency.quantile(part)).count();
    INFO("part " << part << ": " << found << ", exactly " << exact);
    CHECK(found >= exact);
    CHECK(found <= std::max<std::int64_t>(64, exact * 5 / 4 + 1));
  }
}

TEST_CASE("What lies outside of the histogram is bounded") {
  LatencyQuantile latency;
  const auto extreme = GENERATE(Duration::min(), Duration::max(), Duration(-1), Duration(0));
  for (int i = 0; i < 100; ++i)
    latency.add(extreme);
  CHECK(*latency.quantile(1) <= seconds(17));
  CHECK(*latency.quantile(0) >= microseconds(64));
}

TEST_CASE("Old samples are forgotten") {
  LatencyQuantile latency;
  for (int i = 0; i < 100'000; ++i)
    latency.add(seconds(2));
  for (int i = 0; i < 10'000; ++i)
    latency.add(milliseconds(2));
  CHECK(*latency.quantile(0.95) < milliseconds(3));
}

TEST_CASE("Hedges are a bounded share of the reads") {
  HedgePolicy policy = usual_group();
  int asked = 0;
  constexpr int kReads = 10'000;
  // Whatever the origins do: every read that may be hedged is.
  for (int i = 0; i < kReads; ++i) {
    if (policy.on_read() && policy.take()) ++asked;
  }
  CHECK(asked <= kReads * HedgePolicy::kShare + HedgePolicy::kSavedMax);
  CHECK(asked >= kReads * HedgePolicy::kShare - 2);
}

TEST_CASE("Reads under way at the same time share what is saved up") {
  HedgePolicy policy = usual_group();
  int may = 0;
  for (int i = 0; i < 10'000; ++i)
    may += policy.on_read() ? 1 : 0;
  CHECK(may > 9'000);
  int taken = 0;
  for (int i = 0; i < may; ++i)
    taken += policy.take() ? 1 : 0;
  CHECK(taken == static_cast<int>(HedgePolicy::kSavedMax));
}

TEST_CASE("The delay is what 98 of a hundred do not exceed, and never too short") {
  HedgePolicy policy(kOrigins, kFaults);
  const auto usual = GENERATE(milliseconds(10), milliseconds(0));
  std::optional<Duration> delay;
  for (int i = 0; i < 1000; ++i) {
    for (NodeId origin = 0; origin < kOrigins; ++origin)
      policy.on_latency(origin, i % 100 < 99 ? usual : milliseconds(500));
    delay = policy.on_read();
  }
  REQUIRE(delay.has_value());
  CHECK(*delay >= std::max<Duration>(usual, HedgePolicy::kDelayMin));
  CHECK(*delay <= std::max<Duration>(usual * 5 / 4 + milliseconds(1), HedgePolicy::kDelayMin));
}

TEST_CASE("Nothing is hedged before f+1 origins are known") {
  HedgePolicy policy(kOrigins, kFaults);
  for (NodeId origin = 0; origin <= kFaults; ++origin) {
    CHECK_FALSE(delay_of(policy).has_value());
    feed(policy, origin, milliseconds(10));
  }
  CHECK(delay_of(policy).has_value());
}

TEST_CASE("No f origins move the delay out of what the correct ones take") {
  // The correct ones take 10 to 14 ms, the others whatever they like: the quickest correct origin
  // and the (f+1)-th quickest are the bounds, whoever the faulty ones are.
  const Duration lie = GENERATE(as<Duration>(), microseconds(0), milliseconds(12), seconds(10));
  const NodeId first = GENERATE(range(0U, kOrigins));
  HedgePolicy policy(kOrigins, kFaults);
  std::vector<Duration> correct;
  for (NodeId origin = 0; origin < kOrigins; ++origin) {
    const bool faulty = (origin + kOrigins - first) % kOrigins < kFaults;
    const Duration usual = milliseconds(10) + origin * milliseconds(1);
    feed(policy, origin, faulty ? lie : usual);
    if (!faulty) correct.push_back(usual);
  }
  std::sort(correct.begin(), correct.end());
  const auto delay = delay_of(policy);
  REQUIRE(delay.has_value());
  CHECK(*delay >= correct.front());
  CHECK(*delay <= correct[kFaults] * 5 / 4 + microseconds(1));
}

TEST_CASE("One origin that becomes slow is hedged after the others' time") {
  HedgePolicy policy = usual_group();
  for (int i = 0; i < 100'000; ++i)
    policy.on_latency(0, seconds(5));
  CHECK(*delay_of(policy) <= milliseconds(13));
  // All but f have to be.
  for (NodeId origin = 1; origin < kOrigins; ++origin) {
    for (int i = 0; i < 100'000; ++i)
      policy.on_latency(origin, seconds(5));
  }
  CHECK(*delay_of(policy) >= seconds(5));
}

}  // namespace prophecy::replica_client
