// Who may be drawn, whatever happens to a group's origins.
#include "replica_client/core/health/group_health.hpp"

#include <array>
#include <bit>
#include <random>

#include <catch2/catch.hpp>

#include "replica_client/core/health/draw.hpp"
#include "support/start_time.hpp"

namespace prophecy::replica_client {
namespace {

using test::kStart;

std::vector<std::uint32_t> equal_weights(std::uint32_t size) {
  return std::vector<std::uint32_t>(size, 1);
}

Result<> set(GroupHealth& group, NodeId replica, Administration administration, std::string reason,
             TimePoint now) {
  return group.set(replica, {.administration = administration, .reason = std::move(reason)}, now);
}

bool may_be_drawn(const GroupHealth& group, NodeId replica) {
  return (group.drawable() & bit_of(replica)) != 0;
}

bool is_administrative(OriginState state) {
  return state == OriginState::drain || state == OriginState::maint;
}

// The rule, said as plainly as possible.
void check_rule(const GroupHealth& group, std::uint32_t minimum) {
  std::uint32_t ready = 0;
  std::uint32_t drawable = 0;
  for (NodeId replica = 0; replica < group.size(); ++replica) {
    const OriginState state = group.origin(replica).state();
    if (state == OriginState::ready) {
      ++ready;
      REQUIRE(may_be_drawn(group, replica));
      REQUIRE((group.kept() & bit_of(replica)) == 0);
    }
    if (is_administrative(state)) REQUIRE_FALSE(may_be_drawn(group, replica));
    if (may_be_drawn(group, replica)) ++drawable;
  }
  REQUIRE(drawable == std::max(ready, minimum));
  REQUIRE((group.drawable() & ~all_of(group.size())) == 0);
  REQUIRE((group.kept() & ~group.drawable()) == 0);
  // No worse one is kept in place of a better one.
  for (NodeId in = 0; in < group.size(); ++in) {
    for (NodeId out = 0; out < group.size(); ++out) {
      const OriginHealth& kept = group.origin(in);
      const OriginHealth& left = group.origin(out);
      if ((group.kept() & bit_of(in)) == 0 || may_be_drawn(group, out)) continue;
      if (is_administrative(left.state())) continue;
      REQUIRE_FALSE(
          (kept.state() == OriginState::down && left.state() == OriginState::quarantined));
      if (kept.state() == left.state()) REQUIRE(kept.since() >= left.since());
    }
  }
}

GroupHealth group_of(std::uint32_t size, std::uint32_t minimum) {
  HealthRules rules;
  rules.checked = true;
  rules.fall = 1;
  rules.rise = 1;
  rules.drawable_min = minimum;
  return {equal_weights(size), rules, kStart};
}

}  // namespace

TEST_CASE("What fails at all origins alike takes none of them out") {
  constexpr std::uint32_t kSize = 4;
  HealthRules rules;
  rules.faults = 1;
  rules.failures_max = 10;
  GroupHealth group(equal_weights(kSize), rules, TimePoint{});
  // A client whose requests each correct origin refuses; origin 3 answers them.
  const bool is_worse = GENERATE(false, true);
  for (int step = 0; step < 300; ++step) {
    const TimePoint now = TimePoint{} + milliseconds(200) * step;
    for (NodeId replica = 0; replica < 3; ++replica)
      group.on_evidence(replica, {.good = 1, .bad = 2}, now);
    const bool fails_alone = is_worse && step > 100;
    group.on_evidence(3, fails_alone ? OriginEvidence{.bad = 3} : OriginEvidence{.good = 3}, now);
  }
  CHECK(group.drawable() == all_of(kSize));  // even three in three is not twice as many
}

TEST_CASE(
    "An origin that fails where the others do not goes out, though some requests fail everywhere") {
  HealthRules rules;
  rules.faults = 1;
  rules.failures_max = 10;
  GroupHealth group(equal_weights(4), rules, TimePoint{});
  for (int step = 0; step < 300; ++step) {
    const TimePoint now = TimePoint{} + milliseconds(200) * step;
    for (NodeId replica = 0; replica < 4; ++replica) {
      const bool is_broken = replica == 2 && step > 100;
      group.on_evidence(replica,
                        is_broken ? OriginEvidence{.bad = 10} : OriginEvidence{.good = 9, .bad = 1},
                        now);
    }
    if (step <= 100) CHECK(group.drawable() == all_of(4));
  }
  CHECK(group.drawable() == (all_of(4) & ~bit_of(2)));
}

TEST_CASE("Origins that cannot be reached go out, however many they are") {
  HealthRules rules;
  rules.faults = 1;
  rules.failures_max = 10;
  rules.drawable_min = 1;
  GroupHealth group(equal_weights(4), rules, TimePoint{});
  for (int step = 0; step < 20; ++step) {
    const TimePoint now = TimePoint{} + milliseconds(200) * step;
    for (NodeId replica = 0; replica < 3; ++replica)
      group.on_evidence(replica, {.bad = 2, .unreached = 2}, now);
    group.on_evidence(3, {.good = 2}, now);
  }
  CHECK(group.drawable() == bit_of(3));
}

TEST_CASE("Whatever happens, the minimum stays in the draw, and nobody is out without a reason") {
  const unsigned seed = GENERATE(range(1U, 60U));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t bound) {
    return std::uniform_int_distribution<std::uint32_t>(0, bound - 1)(random);
  };
  const std::uint32_t size = 1 + below(9);
  HealthRules rules;
  rules.checked = below(2) == 0;
  rules.rise = 1 + below(3);
  rules.fall = 1 + below(3);
  rules.failures_max = 1 + below(5);
  rules.disputes_max = 1 + below(3);
  rules.drawable_min = 1 + below(10);  // beyond the size, too
  const std::uint32_t minimum = std::min(size, rules.drawable_min);
  GroupHealth group(equal_weights(size), rules, kStart);
  std::vector<OriginState> told(size, OriginState::ready);
  TimePoint now = kStart;
  for (int i = 0; i < 2000; ++i) {
    now += milliseconds(below(3000));
    const NodeId replica = below(size);
    switch (below(8)) {
      case 0:
        group.on_time(now);
        break;
      case 1:
        group.on_evidence(replica, {below(3), below(3), below(20) == 0 ? 1U : 0U}, now);
        break;
      case 2: {
        std::uint32_t administrative = 0;
        for (NodeId other = 0; other < size; ++other) {
          if (other != replica && is_administrative(group.origin(other).state())) ++administrative;
        }
        const auto wanted = static_cast<Administration>(below(3));
        const bool allowed =
            wanted == Administration::ready || size - administrative - 1 >= minimum;
        REQUIRE(set(group, replica, wanted, "test", now).has_value() == allowed);
        break;
      }
      default:
        group.on_check(replica, below(3) != 0, "test", now);
    }
    check_rule(group, minimum);
    for (const GroupHealth::Change& change : group.take_changes()) {
      REQUIRE(told[change.replica] == change.from);
      REQUIRE(change.from != change.to);
      told[change.replica] = change.to;
    }
    for (NodeId each = 0; each < size; ++each)
      REQUIRE(told[each] == group.origin(each).state());
  }
}

TEST_CASE("A group of the largest size is taken") {
  GroupHealth group = group_of(64, 22);
  CHECK(group.drawable() == ~ReplicaSet{0});
  for (NodeId replica = 0; replica < 64; ++replica)
    group.on_check(replica, false, "test", kStart + seconds(replica));
  check_rule(group, 22);
  CHECK(group.drawable() == group.kept());
}

TEST_CASE(
    "When all are down, those that were seen last stay, and make room when others come back") {
  GroupHealth group = group_of(4, 2);
  for (const NodeId replica : {3U, 2U, 1U, 0U})
    group.on_check(replica, false, "test", kStart + seconds(10 - replica));
  CHECK(group.kept() == (bit_of(0) | bit_of(1)));
  group.on_check(3, true, "test", kStart + seconds(20));
  CHECK(group.drawable() == (bit_of(0) | bit_of(3)));
  CHECK(group.kept() == bit_of(0));
  group.on_check(2, true, "test", kStart + seconds(21));
  CHECK(group.drawable() == (bit_of(2) | bit_of(3)));
  CHECK(group.kept() == 0);
}

TEST_CASE("An operator cannot take out more than the minimum leaves, and is told") {
  GroupHealth group = group_of(4, 2);
  REQUIRE(set(group, 0, Administration::drain, "a", kStart).has_value());
  REQUIRE(set(group, 1, Administration::maint, "b", kStart).has_value());
  CHECK(group.unchecked() == bit_of(1));
  const auto refused = set(group, 2, Administration::drain, "c", kStart);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.find("at least 2 ") == 0);
  CHECK(set(group, 0, Administration::maint, "a", kStart).has_value());
  CHECK(set(group, 0, Administration::ready, "a", kStart).has_value());
  CHECK(set(group, 2, Administration::drain, "c", kStart).has_value());
  CHECK(group.drawable() == (bit_of(0) | bit_of(3)));
}

TEST_CASE("Another try goes to the eligible ones first, and to nobody twice") {
  const ReplicaSet all = all_of(4);
  CHECK(candidates(all, 0b0110, 0) == 0b0110);
  CHECK(candidates(all, 0b0110, 0b0010) == 0b0100);
  CHECK(candidates(all, 0b0110, 0b0110) == 0b1001);
  CHECK(candidates(all, 0b0110, 0b1110) == 0b0001);
  CHECK(candidates(all, 0b0110, 0b1111) == 0);
}

TEST_CASE("The draw takes each of a set, and nothing else, equally often") {
  const ReplicaSet set = GENERATE(ReplicaSet{1}, 0b0101, 0b1011, bit_of(63) | bit_of(62) | 1);
  const auto count = static_cast<std::uint32_t>(std::popcount(set));
  std::array<int, 64> drawn{};
  for (std::uint32_t i = 0; i < count; ++i) {
    const NodeId replica = draw(set, [&](std::uint32_t bound) {
      CHECK(bound == count);
      return i;
    });
    ++drawn[replica];
  }
  for (NodeId replica = 0; replica < 64; ++replica)
    CHECK(drawn[replica] == static_cast<int>(set >> replica & 1));
}

}  // namespace prophecy::replica_client
