#include "replica_client/core/byte_budget.hpp"

#include <catch2/catch.hpp>

namespace prophecy::replica_client {

TEST_CASE("A budget has a second's bytes at first, and as many each second") {
  const TimePoint start{seconds(1000)};
  ByteBudget budget(1000);
  budget.take(999, start);
  CHECK(budget.has_some(start));
  budget.take(1, start);
  CHECK_FALSE(budget.has_some(start));
  CHECK(budget.has_some(start + milliseconds(2)));
  // No more than a second's, however long nothing was taken.
  budget.take(1000, start + seconds(3600));
  CHECK_FALSE(budget.has_some(start + seconds(3600)));
}

TEST_CASE("A debt is paid off first") {
  const TimePoint start{seconds(1000)};
  ByteBudget budget(1000);
  budget.take(3000, start);
  CHECK_FALSE(budget.has_some(start + milliseconds(1999)));
  CHECK_FALSE(budget.has_some(start + seconds(2)));
  CHECK(budget.has_some(start + milliseconds(2001)));
}

TEST_CASE("Time that passes in small steps is counted as a whole") {
  TimePoint now{seconds(1000)};
  ByteBudget budget(std::uint64_t{128} << 20);
  budget.take(std::uint64_t{129} << 20, now);
  for (int i = 0; i < 1000; ++i) {
    now += microseconds(10);
    (void)budget.has_some(now);
  }
  CHECK(budget.has_some(now));
}

}  // namespace prophecy::replica_client
