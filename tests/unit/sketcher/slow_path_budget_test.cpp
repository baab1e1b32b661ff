#include "sketcher/core/policy/slow_path_budget.hpp"

#include <string>

#include <catch2/catch.hpp>

#include "support/start_time.hpp"

namespace prophecy::sketcher {
namespace {

using test::kStart;

// How many of so many reads, equally spread over the time, may ask the group.
int allowed(SlowPathBudget& budget, int reads, Duration over, TimePoint& now,
            const std::string& client = "192.0.2.1") {
  int count = 0;
  for (int i = 0; i < reads; ++i) {
    now += over / reads;
    budget.on_read();
    count += budget.take(client, now) ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("Without limits nothing is bounded") {
  CHECK_FALSE(SlowPathLimits{.per_client_second = 0}.any());
  SlowPathBudget budget({.share = 1, .per_second = 0, .per_client_second = 0}, 64, 1);
  TimePoint now = kStart;
  CHECK(allowed(budget, 100'000, milliseconds(1), now) == 100'000);
}

TEST_CASE("A share of the reads, and some a second on top") {
  SlowPathBudget share({.share = 0.1, .per_second = 0, .per_client_second = 0}, 64, 1);
  TimePoint now = kStart;
  const int first = allowed(share, 10'000, seconds(10), now);
  CHECK(first >= 1000);
  CHECK(first <= 1000 + static_cast<int>(SlowPathBudget::kBurst) + 11);
  CHECK(allowed(share, 10'000, seconds(10), now) == Approx(1000).margin(2));

  SlowPathBudget rate({.share = 0, .per_second = 50, .per_client_second = 0}, 64, 1);
  now = kStart;
  allowed(rate, 10'000, seconds(10), now);  // what may come at once has gone
  CHECK(allowed(rate, 10'000, seconds(10), now) == Approx(500).margin(2));
  // A pause gives back no more than the burst.
  now += std::chrono::hours(1);
  CHECK(allowed(rate, 1000, milliseconds(1), now) == static_cast<int>(SlowPathBudget::kBurst));
}

TEST_CASE("One client's reads do not cost another's") {
  SlowPathBudget budget({.share = 1, .per_second = 0, .per_client_second = 10}, 64, 7);
  TimePoint now = kStart;
  const int burst = 100;  // ten seconds' reads
  CHECK(allowed(budget, 1000, milliseconds(1), now, "a") == burst);
  CHECK(allowed(budget, 1000, milliseconds(1), now, "b") == burst);
  CHECK(allowed(budget, 10'000, seconds(10), now, "a") == Approx(100).margin(burst + 1));
  CHECK(allowed(budget, 10'000, seconds(10), now, "a") == Approx(100).margin(1));
  // A refused read costs nothing: whoever waits is served.
  now += seconds(2);
  CHECK(budget.take("a", now));
}

TEST_CASE("All addresses of a network of IPv6 share a client's reads") {
  const auto of_networks = [](unsigned ipv6_prefix_bits, const std::string& before) {
    SlowPathBudget budget({.share = 1, .per_second = 0, .per_client_second = 1}, ipv6_prefix_bits,
                          7);
    int count = 0;
    for (int i = 0; i < 1000; ++i)
      count += budget.take(before + std::to_string(i), kStart) ? 1 : 0;
    return count;
  };
  CHECK(of_networks(64, "2001:db8::") == 20);
  CHECK(of_networks(128, "2001:db8::") > 900);
  CHECK(of_networks(48, "2001:db8:0:1::") == 20);
}

TEST_CASE("By default a client fills its cache at once, and then asks for 50 a second") {
  REQUIRE(SlowPathLimits{}.any());
  SlowPathBudget budget({}, 64, 7);
  TimePoint now = kStart;
  CHECK(allowed(budget, 2000, milliseconds(1), now) == 500);
  CHECK(allowed(budget, 2000, seconds(10), now) == Approx(500).margin(1));
  // The route as a whole has no bound.
  int others = 0;
  for (int i = 0; i < 1000; ++i)
    others += budget.take("198.51.100." + std::to_string(i % 250), now) ? 1 : 0;
  CHECK(others == 1000);
}

TEST_CASE("A client that is refused takes nothing from the route") {
  SlowPathBudget budget({.share = 0, .per_second = 0, .per_client_second = 1}, 64, 7);
  int count = 0;
  for (int i = 0; i < 1000; ++i)
    count += budget.take("greedy", kStart) ? 1 : 0;
  CHECK(count == 20);
  for (int i = 0; i < 1000; ++i)
    count += budget.take(std::to_string(i), kStart) ? 1 : 0;
  CHECK(count == static_cast<int>(SlowPathBudget::kBurst));
}

TEST_CASE("A clock that goes back gives nothing and takes nothing") {
  SlowPathBudget budget({.share = 0, .per_second = 10, .per_client_second = 0}, 64, 7);
  int count = 0;
  for (int i = 0; i < 1000; ++i)
    count += budget.take("a", kStart - seconds(i)) ? 1 : 0;
  CHECK(count == static_cast<int>(SlowPathBudget::kBurst));
  CHECK_FALSE(budget.take("a", kStart));
  CHECK(budget.take("a", kStart + seconds(1)));
}

}  // namespace prophecy::sketcher
