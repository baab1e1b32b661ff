#include "sketcher/core/policy/volatility.hpp"

#include <cmath>
#include <random>

#include <catch2/catch.hpp>

#include "sketcher/core/policy/avoidance_credit.hpp"

namespace prophecy::sketcher {
namespace {

using Change = Volatility::Change;

constexpr VolatilityLimits kLimits{0.75F};

// Reads in the same second.
int reads_until(Volatility& volatility, bool transition, Change wanted, int at_most = 1000) {
  for (int i = 1; i <= at_most; ++i) {
    if (volatility.on_read(transition, kLimits, true) == wanted) return i;
  }
  return -1;
}

Volatility blacklisted() {
  Volatility volatility;
  while (!volatility.blacklisted())
    static_cast<void>(volatility.on_read(true, kLimits, true));
  return volatility;
}

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed) {}
  bool operator()(double probability) {
    return std::uniform_real_distribution<double>(0, 1)(engine_) < probability;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace

TEST_CASE("The threshold is where asking one origin first costs as much as asking all") {
  for (const std::uint32_t origins : {3U, 4U, 7U, 10U, 13U}) {
    const double t = VolatilityLimits::of_group(origins).from;
    CHECK(1 + t * origins == Approx(origins));
  }
  CHECK(VolatilityLimits::of_group(4).from == 0.75F);
}

TEST_CASE("Sixteen transitions in a row blacklist, fifteen do not") {
  Volatility volatility;
  CHECK(reads_until(volatility, true, Change::blacklisted) == 16);
  CHECK(volatility.blacklists(0));
}

TEST_CASE("So they do when some seconds lie between them") {
  Volatility volatility;
  for (int i = 1; i < 16; ++i) {
    volatility.age(2);
    REQUIRE(volatility.on_read(true, kLimits, true) == Change::none);
  }
  volatility.age(2);
  CHECK(volatility.on_read(true, kLimits, true) == Change::blacklisted);
}

TEST_CASE("A request that has been static for long takes longer to be blacklisted") {
  Volatility volatility;
  for (int i = 0; i < 1000; ++i)
    REQUIRE(volatility.on_read(false, kLimits, true) == Change::none);
  const int reads = reads_until(volatility, true, Change::blacklisted);
  CHECK(reads == 44);  // (31/32)^44 < 1/4
}

TEST_CASE("The way back is as short as the way in, however long it was volatile") {
  Volatility volatility = blacklisted();
  for (int i = 0; i < 100'000; ++i)
    REQUIRE(volatility.on_read(true, kLimits, true) == Change::none);
  CHECK(reads_until(volatility, false, Change::released) == 17);  // (31/32)^17 < 0.6
  // And it does not come back by itself.
  CHECK(reads_until(volatility, false, Change::blacklisted) == -1);
}

TEST_CASE("What nobody has read for long is blacklisted no more") {
  Volatility volatility = blacklisted();
  while (volatility.weight_after(0) < Volatility::kWeightMax)
    static_cast<void>(volatility.on_read(true, kLimits, true));
  CHECK(volatility.blacklists(2 * Volatility::kHalfLifeSeconds));
  CHECK_FALSE(volatility.blacklists(2 * Volatility::kHalfLifeSeconds + 10));
  volatility.age(3 * Volatility::kHalfLifeSeconds);
  // One read more does not tell enough.
  CHECK(volatility.on_read(true, kLimits, true) == Change::released);
}

TEST_CASE("What is read seldom is never blacklisted") {
  Volatility volatility;
  for (int i = 0; i < 10'000; ++i) {
    volatility.age(60);
    REQUIRE(volatility.on_read(true, kLimits, true) == Change::none);
  }
}

TEST_CASE("Without room it stays as it is, until there is") {
  Volatility volatility;
  for (int i = 0; i < 100; ++i)
    REQUIRE(volatility.on_read(true, kLimits, false) == Change::none);
  CHECK(volatility.on_read(true, kLimits, true) == Change::blacklisted);
  // Room is asked for on the way in alone.
  CHECK(volatility.on_read(true, kLimits, false) == Change::none);
}

TEST_CASE("A route without automatic blacklisting has none") {
  Volatility volatility;
  for (int i = 0; i < 100; ++i)
    REQUIRE(volatility.on_read(true, VolatilityLimits::never(), true) == Change::none);
}

TEST_CASE("The estimate follows a plain exponential mean") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    INFO("seed " << seed);
    Chance chance(seed);
    Volatility volatility;
    double share = 0;
    double weight = 0;
    for (int i = 0; i < 500; ++i) {
      const bool idle = chance(0.05);
      volatility.age(idle ? 77 : 0);
      if (idle) weight *= std::exp2(-77.0 / Volatility::kHalfLifeSeconds);
      const bool transition = chance(0.3);
      static_cast<void>(volatility.on_read(transition, kLimits, true));
      weight = std::min(weight + 1, double{Volatility::kWeightMax});
      share += (transition - share) / weight;
      REQUIRE(volatility.share() == Approx(share).margin(1e-4));
      // As it would be in shared memory.
      volatility = Volatility::unpack(volatility.packed());
    }
  }
}

TEST_CASE("Any word is a value in range") {
  std::mt19937_64 engine(7);
  for (int i = 0; i < 100'000; ++i) {
    const Volatility volatility = Volatility::unpack(engine());
    REQUIRE((volatility.share() >= 0 && volatility.share() <= 1));
    REQUIRE(
        (volatility.weight_after(0) >= 0 && volatility.weight_after(0) <= Volatility::kWeightMax));
  }
  CHECK_FALSE(Volatility::unpack(0).blacklisted());
}

TEST_CASE("It does not go back and forth") {
  // Far from the threshold not at all; close to it, hysteresis keeps changes rare.
  const auto changes = [](double ratio) {
    int count = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Chance chance(seed);
      Volatility volatility;
      for (int i = 0; i < 5000; ++i)
        count += volatility.on_read(chance(ratio), kLimits, true) != Change::none ? 1 : 0;
    }
    return count;
  };
  CHECK(changes(0.0) == 0);
  CHECK(changes(0.15) == 0);
  CHECK(changes(0.4) <= 20);
  CHECK(changes(0.75) <= 20 * 40);
  CHECK(changes(0.95) <= 20 + 4);
  CHECK(changes(1.0) == 20);
}

TEST_CASE("It never costs much, and saves what there is to be saved") {
  constexpr int kReads = 20'000;
  constexpr double kOrigins = 4;
  const auto cost = [](double ratio, bool with) {
    Chance chance(static_cast<std::uint64_t>(ratio * 100) + 1);
    Volatility volatility;
    double total = 0;
    for (int i = 0; i < kReads; ++i) {
      const bool transition = chance(ratio);
      total += with && volatility.blacklisted() ? kOrigins : 1 + (transition ? kOrigins : 0);
      static_cast<void>(volatility.on_read(transition, kLimits, true));
    }
    return total / kReads;
  };
  for (const double ratio : {0.0, 0.15, 0.5, 0.75, 0.9, 1.0}) {
    INFO("ratio " << ratio << ": " << cost(ratio, false) << " origins' work a read without, "
                  << cost(ratio, true) << " with");
    CHECK(cost(ratio, true) <= cost(ratio, false) * 1.03);
    if (ratio >= 0.9) CHECK(cost(ratio, true) < kOrigins + 0.1);
  }
  // Between the thresholds.
  for (const double ratio : {0.55, 0.6, 0.65, 0.7})
    CHECK(cost(ratio, true) <= cost(ratio, false) * 1.06);
  CHECK(cost(1.0, false) == Approx(5));
  CHECK(cost(0.9, false) == Approx(4.6).margin(0.05));
}

TEST_CASE("Half of a worker's reads at most are kept from a fast read, beyond a burst") {
  AvoidanceCredit credit;
  int taken = 0;
  for (int i = 0; i < 10'000; ++i) {
    credit.on_read();
    taken += credit.take() ? 1 : 0;
  }
  CHECK(taken <= 5000 + static_cast<int>(AvoidanceCredit::kBurst));
  CHECK(taken >= 5000);
}

}  // namespace prophecy::sketcher
