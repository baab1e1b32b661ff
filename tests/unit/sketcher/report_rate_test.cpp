#include "sketcher/core/policy/report_rate.hpp"

#include <catch2/catch.hpp>

namespace prophecy::sketcher {
namespace {

int taken(ReportRate& rate, TimePoint now, int asked) {
  int count = 0;
  for (int i = 0; i < asked; ++i)
    count += rate.take(now) ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("So many are written at once, and then one in each interval") {
  ReportRate rate(1000, milliseconds(100));
  TimePoint now = TimePoint{} + seconds(1000);
  CHECK(taken(rate, now, 5000) == 1000);
  CHECK(taken(rate, now + milliseconds(99), 10) == 0);
  int count = 0;
  for (int i = 0; i < 10'000; ++i) {
    now += milliseconds(1);
    count += taken(rate, now, 3);
  }
  CHECK(count == 100);
  // What is not used is saved, up to as many as at once.
  CHECK(taken(rate, now + seconds(5), 100) == 50);
  CHECK(taken(rate, now + seconds(5000), 5000) == 1000);
}

}  // namespace prophecy::sketcher
