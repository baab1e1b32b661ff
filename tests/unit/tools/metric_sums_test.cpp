#include "tools/answers/metric_sums.hpp"

#include <vector>

#include <catch2/catch.hpp>

using namespace prophecy;
using namespace prophecy::tools;

namespace {

std::string sum_of(const std::vector<MemberPage>& pages) {
  auto sum = sum_metrics(pages);
  REQUIRE(sum.has_value());
  return *sum;
}

constexpr const char* kNorth = R"(# HELP prophecy_requests_total Requests by path.
# TYPE prophecy_requests_total counter
prophecy_requests_total{path="fast",route="a"} 3
prophecy_requests_total{path="fast",route="b"} 9007199254740991
# HELP prophecy_timeouts_total Clients that were too slow.
# TYPE prophecy_timeouts_total counter
prophecy_timeouts_total{worker="0"} 1
prophecy_timeouts_total{worker="1"} 2
# HELP prophecy_connections Open client connections.
# TYPE prophecy_connections gauge
prophecy_connections{worker="0"} 7
# TYPE prophecy_wait_seconds histogram
prophecy_wait_seconds_bucket{le="0.5"} 2
prophecy_wait_seconds_bucket{le="+Inf"} 3
prophecy_wait_seconds_sum 0.25
prophecy_wait_seconds_count 3
)";
constexpr const char* kSouth = R"(# HELP prophecy_requests_total Requests by path.
# TYPE prophecy_requests_total counter
prophecy_requests_total{path="fast",route="a"} 40
prophecy_requests_total{path="slow \"{},\\",route="a"} 1
# HELP prophecy_timeouts_total Clients that were too slow.
# TYPE prophecy_timeouts_total counter
prophecy_timeouts_total{worker="0"} 10
# HELP prophecy_connections Open client connections.
# TYPE prophecy_connections gauge
prophecy_connections{worker="0"} 8
# TYPE prophecy_wait_seconds histogram
prophecy_wait_seconds_bucket{le="0.5"} 1
prophecy_wait_seconds_bucket{le="+Inf"} 1
prophecy_wait_seconds_sum 0.5
prophecy_wait_seconds_count 1
# TYPE prophecy_newer_total counter
prophecy_newer_total 5
)";

}  // namespace

TEST_CASE("metrics of members: counters and buckets are added up, gauges stay apart") {
  CHECK(sum_of({{"north", kNorth}, {"south", kSouth}}) ==
        R"(# HELP prophecy_requests_total Requests by path.
# TYPE prophecy_requests_total counter
prophecy_requests_total{path="fast",route="a"} 43
prophecy_requests_total{path="fast",route="b"} 9007199254740991
prophecy_requests_total{path="slow \"{},\\",route="a"} 1
# HELP prophecy_timeouts_total Clients that were too slow.
# TYPE prophecy_timeouts_total counter
prophecy_timeouts_total 13
# HELP prophecy_connections Open client connections.
# TYPE prophecy_connections gauge
prophecy_connections{of_member="north",worker="0"} 7
prophecy_connections{of_member="south",worker="0"} 8
# TYPE prophecy_wait_seconds histogram
prophecy_wait_seconds_bucket{le="0.5"} 3
prophecy_wait_seconds_bucket{le="+Inf"} 4
prophecy_wait_seconds_sum 0.75
prophecy_wait_seconds_count 4
# TYPE prophecy_newer_total counter
prophecy_newer_total 5
)");
}

TEST_CASE("metrics of members: a line that cannot be read is named with its member") {
  for (const char* const line :
       {"prophecy_x{", "prophecy_x{a=\"1} 2", "prophecy_x{a=\"1\"", "prophecy_x{a=\"1\"}2",
        "prophecy_x", "prophecy_x ", "prophecy_x 1 2", "prophecy_x one", "{a=\"1\"} 2",
        "prophecy_x{=\"1\"} 2", "prophecy_x{a=\"1\"b=\"2\"} 2", "prophecy_x{a=\"1\\"}) {
    const std::vector<MemberPage> pages{
        {"north", kNorth}, {"south", "# TYPE prophecy_x counter\n" + std::string(line) + "\n"}};
    const auto sum = sum_metrics(pages);
    INFO(line);
    REQUIRE_FALSE(sum.has_value());
    CHECK(sum.error().message == "south: line 2 of its metrics cannot be read");
  }
  // A number that says what it counts nowhere.
  const std::vector<MemberPage> pages{{"north", kNorth}, {"south", "prophecy_x 1\n"}};
  CHECK_FALSE(sum_metrics(pages).has_value());
}
