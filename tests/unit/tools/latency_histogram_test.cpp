#include "bench/load/latency_histogram.hpp"

#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

using namespace prophecy;
using namespace prophecy::tools;
using std::chrono::nanoseconds;

TEST_CASE("An empty histogram has nothing to say") {
  const LatencyHistogram histogram;
  CHECK(histogram.count() == 0);
  CHECK(histogram.mean() == Duration{});
  CHECK(histogram.quantile(0.5) == Duration{});
}

TEST_CASE("Short durations are exact") {
  LatencyHistogram histogram;
  for (int i = 1; i <= 100; ++i)
    histogram.add(nanoseconds(i));
  histogram.add(nanoseconds(-5));
  CHECK(histogram.count() == 101);
  CHECK(histogram.quantile(0) == nanoseconds(0));
  CHECK(histogram.quantile(0.5) == nanoseconds(50));
  CHECK(histogram.quantile(1) == nanoseconds(100));
  CHECK(histogram.max() == nanoseconds(100));
}

TEST_CASE("Quantiles of any durations are those of a sorted list, to one part in 64") {
  std::mt19937_64 random(GENERATE(7));
  std::vector<std::int64_t> values;
  LatencyHistogram histogram;
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(static_cast<std::int64_t>(random() >> (1 + random() % 63)));
    histogram.add(nanoseconds(values.back()));
  }
  std::sort(values.begin(), values.end());
  long double sum = 0;
  for (const std::int64_t value : values)
    sum += static_cast<long double>(value);
  CHECK(histogram.mean().count() == static_cast<std::int64_t>(sum / 20'000));
  for (const double part : {0.001, 0.1, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto place = static_cast<std::size_t>(part * 20'000 + 0.5) - 1;
    const auto found = histogram.quantile(part).count();
    INFO("part " << part);
    CHECK(found >= values[place]);
    CHECK(found - values[place] <= values[place] / 64);
  }
}
