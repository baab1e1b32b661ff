#include "sketcher/ring/ring_report.hpp"

#include <numeric>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "history_table/partition.hpp"

namespace prophecy::sketcher {
namespace {

using PlainJson = nlohmann::json;

PlainJson report_of(bool connected, bool is_handed_over, int weight_of_other) {
  return {
      {"name", "a"},
      {"connected", connected},
      {"is_handed_over", is_handed_over},
      {"members", {{{"name", "a"}, {"weight", 0}}, {{"name", "b"}, {"weight", weight_of_other}}}}};
}

}  // namespace

TEST_CASE("No report of the ring's process ends no drain") {
  CHECK_FALSE(shows_drained(nullptr));
  CHECK_FALSE(shows_drained(report_of(true, false, 100)));
  CHECK(shows_drained(report_of(true, true, 100)));
}

TEST_CASE("A drain ends where nobody can take over") {
  CHECK(shows_drained(report_of(false, false, 100)));
  CHECK(shows_drained(report_of(true, false, 0)));
}

TEST_CASE("The shares of a view's members are all partitions") {
  dht::View view;
  for (const auto& [name, weight] :
       {std::pair("a", 100U), std::pair("b", 0U), std::pair("c", 300U)})
    view.members.push_back(
        {.holder = {.name = name, .instance = 1, .weight = weight}, .addresses = {}});
  const auto shares = shares_of(view, kPartitions);
  REQUIRE(shares.size() == 3);
  CHECK(std::accumulate(shares.begin(), shares.end(), std::size_t{0}) == kPartitions);
  CHECK(shares[1] == 0);
  CHECK(shares[2] > 2 * shares[0]);
}

}  // namespace prophecy::sketcher
