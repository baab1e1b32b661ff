// An origin that answers much later than the others is left out of the draw, and a client or a
// faulty origin cannot bring that about for a correct one.
#include "replica_client/core/health/slowness.hpp"

#include <array>
#include <random>

#include <catch2/catch.hpp>

#include "replica_client/core/health/draw.hpp"
#include "replica_client/core/hedge/hedge_policy.hpp"
#include "support/start_time.hpp"

namespace prophecy::replica_client {
namespace {

using test::kStart;

HealthRules slowness_rules() {
  HealthRules rules;
  rules.slow_max = 5;
  rules.slow_window = seconds(30);
  rules.sit_out = seconds(30);
  rules.sit_out_max = seconds(120);
  return rules;
}

// So many reads of each origin of four, of which so many were slow.
using Slow = std::array<std::uint64_t, 4>;
void read(GroupHealth& group, std::uint64_t reads, const Slow& slow, TimePoint now) {
  for (NodeId replica = 0; replica < 4; ++replica)
    group.on_evidence(replica, {.good = reads, .reads = reads, .slow = slow[replica]}, now);
  group.on_time(now);
}

ReplicaSet out_after(std::uint64_t reads, const Slow& slow) {
  GroupHealth group({1, 1, 1, 1}, slowness_rules(), kStart);
  read(group, reads, slow, kStart);
  return all_of(4) & ~group.drawable();
}

}  // namespace

TEST_CASE("An origin is slow by the number and the share of its slow reads, beside the others'") {
  CHECK(out_after(40, {0, 0, 0, 40}) == bit_of(3));
  CHECK(out_after(40, {0, 0, 0, 5}) == bit_of(3));
  CHECK(out_after(40, {0, 0, 0, 4}) == 0);   // too few
  CHECK(out_after(100, {0, 0, 0, 9}) == 0);  // too small a share
  CHECK(out_after(19, {0, 0, 0, 19}) == 0);  // nothing is known of the others
  CHECK(out_after(40, {0, 0, 20, 20}) == 0b1100);
}

TEST_CASE("Content that takes long at all origins makes none of them slow") {
  CHECK(out_after(40, {20, 20, 20, 20}) == 0);
  CHECK(out_after(40, {20, 15, 20, 40}) == 0);
  // A faulty one that answers at once does not make the others slow.
  CHECK(out_after(40, {0, 20, 20, 20}) == 0);
  CHECK(out_after(40, {0, 5, 20, 20}) == 0b1100);
}

TEST_CASE("At least f+1 stay in the draw, whoever is slow") {
  HealthRules checked = slowness_rules();
  checked.checked = true;
  GroupHealth group({1, 1, 1, 1}, checked, kStart);
  read(group, 40, {0, 0, 40, 40}, kStart);
  CHECK(group.drawable() == 0b0011);
  group.on_check(0, false, "test", kStart);
  group.on_check(0, false, "test", kStart);
  group.on_check(0, false, "test", kStart);
  REQUIRE(group.origin(0).state() == OriginState::down);
  // What is slow is better than what is down.
  CHECK(group.drawable() != 0b0011);
  CHECK((group.drawable() & 0b0011) == 0b0010);
  CHECK((group.kept() & 0b1100) != 0);
}

TEST_CASE("A slow origin comes back on trial, and sits out for twice as long if that fails") {
  GroupHealth group({1, 1, 1, 1}, slowness_rules(), kStart);
  TimePoint now = kStart;
  read(group, 40, {0, 0, 0, 40}, now);
  REQUIRE(group.origin(3).state() == OriginState::slow);
  CHECK(group.origin(3).reason() == "answers much later than others, sits out for 30 s");
  now += seconds(30);
  group.on_time(now);
  REQUIRE(group.origin(3).state() == OriginState::ready);
  CHECK(group.origin(3).reason() == "sit-out is over");
  read(group, 40, {0, 0, 0, 1}, now);
  CHECK(group.origin(3).state() == OriginState::ready);
  read(group, 0, {0, 0, 0, 10}, now);
  REQUIRE(group.origin(3).state() == OriginState::slow);
  CHECK(group.origin(3).reason() == "still answers much later than others, sits out for 60 s");
  // As long again without, and it is forgotten.
  now += seconds(60);
  group.on_time(now);
  for (int i = 0; i < 60; ++i) {
    now += seconds(1);
    read(group, 40, {0, 0, 0, 0}, now);
  }
  read(group, 10, {0, 0, 0, 4}, now);
  CHECK(group.origin(3).state() == OriginState::ready);
}

TEST_CASE("Old slow reads are forgotten") {
  GroupHealth group({1, 1, 1, 1}, slowness_rules(), kStart);
  TimePoint now = kStart;
  for (int i = 0; i < 100; ++i) {
    read(group, 10, {0, 0, 0, 2}, now);
    now += seconds(31);
    REQUIRE(group.origin(3).state() == OriginState::ready);
  }
}

TEST_CASE("An operator says that a slow origin is ready; and the rule can be switched off") {
  GroupHealth group({1, 1, 1, 1}, slowness_rules(), kStart);
  read(group, 40, {0, 0, 0, 40}, kStart);
  REQUIRE(group.set(3, {.administration = Administration::ready, .reason = "new disk"}, kStart)
              .has_value());
  CHECK(group.origin(3).state() == OriginState::ready);
  HealthRules off = slowness_rules();
  off.slow = false;
  GroupHealth ungoverned({1, 1, 1, 1}, off, kStart);
  read(ungoverned, 40, {0, 0, 0, 40}, kStart);
  CHECK(ungoverned.drawable() == all_of(4));
}

// Reads one after another of a group whose last origin is as bad as `badness` says; hedged as
// FastRead does it. Counts those that took over a second.
TEST_CASE("After it was learnt, one read of a hundred at most waits for a slow origin") {
  const int hang_percent = GENERATE(100, 40);
  const unsigned seed = GENERATE(range(1U, 6U));
  INFO("seed " << seed << ", slow in " << hang_percent << " of 100");
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t bound) {
    return std::uniform_int_distribution<std::uint32_t>(0, bound - 1)(random);
  };
  GroupHealth group({1, 1, 1, 1}, slowness_rules(), kStart);
  HedgePolicy hedges(4, 1);
  TimePoint now = kStart;
  const auto latency_of = [&](NodeId origin) -> Duration {
    const bool is_slow = origin == 3 && below(100) < static_cast<std::uint32_t>(hang_percent);
    return is_slow ? seconds(3) : Duration(milliseconds(1) + microseconds(below(2000)));
  };
  int late = 0;
  constexpr int kLearning = 800;
  constexpr int kReads = 20'000;
  for (int i = 0; i < kReads; ++i) {
    const auto delay = hedges.on_read();
    const NodeId first = draw(group.drawable(), below);
    const Duration alone = latency_of(first);
    OriginEvidence evidence{.good = 1, .reads = 1};
    Duration took = alone;
    const ReplicaSet others = group.drawable() & ~bit_of(first);
    if (delay && alone > *delay && others != 0 && hedges.take()) {
      const NodeId second = draw(others, below);
      const Duration other = latency_of(second);
      took = std::min(alone, *delay + other);
      hedges.on_latency(second, std::min(other, took - *delay));
    }
    evidence.slow = hedges.is_slow(took) ? 1 : 0;
    hedges.on_latency(first, took);
    now += took;
    group.on_evidence(first, evidence, now);
    group.on_time(now);
    if (i >= kLearning && took > seconds(1)) ++late;
  }
  CHECK(late <= (kReads - kLearning) / 100);
}

}  // namespace prophecy::replica_client
