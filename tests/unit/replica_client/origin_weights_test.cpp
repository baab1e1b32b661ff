// Origins are drawn in proportion to their weights, and come back slowly.
#include "replica_client/core/health/origin_weights.hpp"

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "replica_client/core/health/draw.hpp"
#include "replica_client/core/health/group_health.hpp"
#include "support/start_time.hpp"

namespace prophecy::replica_client {
namespace {

using test::kStart;
constexpr std::uint32_t kFull = kShareOfWeight;

HealthRules slow_rules() {
  HealthRules rules;
  rules.checked = true;
  rules.rise = 1;
  rules.fall = 1;
  rules.drawable_min = 2;
  rules.slow_start = seconds(10);
  return rules;
}

Result<> administer(GroupHealth& group, NodeId replica, Administration administration,
                    TimePoint now) {
  return group.set(replica, {.administration = administration, .reason = "test"}, now);
}

}  // namespace

TEST_CASE("Of all numbers that may be rolled, an origin is drawn by as many as it has shares") {
  const unsigned seed = GENERATE(range(1U, 200U));
  std::mt19937 engine(seed);
  const auto below = [&](std::uint32_t bound) {
    return std::uniform_int_distribution<std::uint32_t>(0, bound - 1)(engine);
  };
  OriginShares shares{};
  ReplicaSet from = 0;
  std::uint32_t sum = 0;
  for (NodeId replica = 0; replica < kReplicasMax; ++replica) {
    shares[replica] = 1 + below(50);
    if (below(4) != 0 && replica != seed % kReplicasMax) continue;
    from |= bit_of(replica);
    sum += shares[replica];
  }
  std::array<std::uint32_t, kReplicasMax> drawn{};
  for (std::uint32_t rolled = 0; rolled < sum; ++rolled) {
    ++drawn[draw(from, shares, [&](std::uint32_t bound) {
      CHECK(bound == sum);
      return rolled;
    })];
  }
  for (NodeId replica = 0; replica < kReplicasMax; ++replica)
    CHECK(drawn[replica] == ((from & bit_of(replica)) != 0 ? shares[replica] : 0));
}

TEST_CASE("A slow start rises from a sixteenth to the whole, and never falls") {
  for (const std::uint32_t weight : {1U, 3U, kWeightMax}) {
    CHECK(share_of(weight, Duration{}, seconds(16)) == weight * kFull / 16);
    CHECK(share_of(weight, seconds(1), seconds(16)) == weight * kFull / 16);
    CHECK(share_of(weight, seconds(8), seconds(16)) == weight * kFull / 2);
    CHECK(share_of(weight, seconds(16), seconds(16)) == weight * kFull);
    CHECK(share_of(weight, std::chrono::hours(1000), seconds(16)) == weight * kFull);
    CHECK(share_of(weight, Duration{}, Duration{}) == weight * kFull);
    std::uint32_t before = 1;
    for (int i = 0; i <= 1700; ++i) {
      const std::uint32_t share = share_of(weight, milliseconds(10) * i, seconds(16));
      CHECK(share >= before);
      before = share;
    }
  }
}

TEST_CASE("The largest share is that of the f heaviest origins") {
  CHECK(largest_share(std::vector<std::uint32_t>{1, 1, 1, 1}, 1) == 0.25);
  CHECK(largest_share(std::vector<std::uint32_t>{1, 5, 2, 2}, 1) == 0.5);
  CHECK(largest_share(std::vector<std::uint32_t>{4, 1, 2, 1, 1, 1, 6}, 2) == 10.0 / 16);
  const std::vector<std::uint32_t> alike{1, 1, 1, 1};
  CHECK(largest_share_ever(alike, 1, 2, false) == 0.5);
  CHECK(largest_share_ever(alike, 1, 3, false) == Approx(1.0 / 3));
  CHECK(largest_share_ever(alike, 1, 2, true) == Approx(16.0 / 17));
  CHECK(largest_share_ever(std::vector<std::uint32_t>{1, 3, 8, 2}, 1, 2, false) == Approx(8.0 / 9));
}

TEST_CASE("At worst is no better than any that can be drawn from") {
  const unsigned seed = GENERATE(range(1U, 60U));
  std::mt19937 engine(seed);
  const auto below = [&](std::uint32_t bound) {
    return std::uniform_int_distribution<std::uint32_t>(0, bound - 1)(engine);
  };
  const std::uint32_t size = 2 + below(6);
  const std::uint32_t faults = 1 + below(size - 1);
  std::vector<std::uint32_t> weights(size);
  for (std::uint32_t& weight : weights)
    weight = 1 + below(9);
  const std::uint32_t minimum = std::min(size, faults + 1 + below(2));
  const double worst = largest_share_ever(weights, faults, minimum, false);
  bool is_reached = false;
  for (ReplicaSet set = 1; set < bit_of(size); ++set) {
    if (static_cast<std::uint32_t>(std::popcount(set)) < minimum) continue;
    std::vector<std::uint32_t> drawn;
    for (NodeId replica = 0; replica < size; ++replica) {
      if ((set & bit_of(replica)) != 0) drawn.push_back(weights[replica]);
    }
    const double share = largest_share(drawn, faults);
    CHECK(share <= worst + 1e-12);
    is_reached = is_reached || std::abs(share - worst) < 1e-12;
  }
  CHECK(is_reached);
}

TEST_CASE("An origin that comes back by itself, or by an operator, starts slowly") {
  GroupHealth group({1, 2, 1, 1}, slow_rules(), kStart);
  CHECK(group.shares(kStart)[1] == 2 * kFull);  // not when all begin
  const bool by_operator = GENERATE(false, true);
  if (by_operator) {
    REQUIRE(administer(group, 1, Administration::drain, kStart + seconds(1)).has_value());
    REQUIRE(administer(group, 1, Administration::ready, kStart + seconds(5)).has_value());
  } else {
    group.on_check(1, false, "test", kStart + seconds(1));
    group.on_check(1, true, "test", kStart + seconds(5));
  }
  CHECK(group.shares(kStart + seconds(5))[1] == 2 * kFull / 16);
  CHECK(group.shares(kStart + seconds(10))[1] == kFull);
  CHECK(group.shares(kStart + seconds(15))[1] == 2 * kFull);
  CHECK(group.shares(kStart + seconds(5))[0] == kFull);
  CHECK(group.largest_share(group.shares(kStart + seconds(5))) == Approx(8.0 / 25));
  CHECK(group.largest_share(group.shares(kStart + seconds(15))) == Approx(2.0 / 5));
}

TEST_CASE("An origin that is kept in the draw has all of its weight") {
  GroupHealth group({1, 1, 1, 1}, slow_rules(), kStart);
  for (NodeId replica = 0; replica < 3; ++replica)
    group.on_check(replica, false, "test", kStart + seconds(replica));
  REQUIRE(group.kept() == bit_of(2));
  REQUIRE(administer(group, 3, Administration::drain, kStart + seconds(4)).has_value());
  REQUIRE(group.kept() == (bit_of(1) | bit_of(2)));
  CHECK(group.shares(kStart + seconds(4))[1] == kFull);
  // And is not slowed down when it is well again.
  group.on_check(1, true, "test", kStart + seconds(5));
  CHECK(group.shares(kStart + seconds(5))[1] == kFull);
  // One that was out is.
  group.on_check(0, true, "test", kStart + seconds(6));
  CHECK(group.shares(kStart + seconds(6))[0] == kFull / 16);
}

TEST_CASE("A weight takes effect at once, and may not be nothing") {
  GroupHealth group({1, 1, 1, 1}, slow_rules(), kStart);
  REQUIRE(group.set(2, {.weight = 7}, kStart).has_value());
  CHECK(group.weight(2) == 7);
  CHECK(group.shares(kStart)[2] == 7 * kFull);
  CHECK(group.origin(2).state() == OriginState::ready);
  for (const std::uint32_t wrong : {0U, kWeightMax + 1})
    CHECK_FALSE(group.set(2, {.weight = wrong}, kStart).has_value());
  // Together with a state that is refused, nothing changes.
  REQUIRE(administer(group, 0, Administration::drain, kStart).has_value());
  REQUIRE(administer(group, 1, Administration::drain, kStart).has_value());
  CHECK_FALSE(
      group.set(2, {.administration = Administration::drain, .weight = 3}, kStart).has_value());
  CHECK(group.weight(2) == 7);
}

}  // namespace prophecy::replica_client
