#include "sketcher/counters/reason_counters.hpp"

#include <catch2/catch.hpp>

namespace prophecy::sketcher {
namespace {

using Totals = std::map<std::string, std::uint64_t>;

Totals totals_of(const ReasonCounters& counters) {
  Totals totals;
  counters.add_to(totals);
  return totals;
}

}  // namespace

TEST_CASE("refusals are counted by their text") {
  ReasonCounters counters;
  CHECK(totals_of(counters).empty());
  counters.add("Host is missing");
  counters.add("head too large");
  counters.add("Host is missing");
  counters.add("Host is missing, or so");
  CHECK(totals_of(counters) ==
        Totals{{"Host is missing", 2}, {"head too large", 1}, {"Host is missing, or so", 1}});
  ReasonCounters others;
  others.add("Host is missing");
  Totals totals = totals_of(counters);
  others.add_to(totals);
  CHECK(totals["Host is missing"] == 3);
}

TEST_CASE("there is a bound for the number of reasons, and none gets lost") {
  ReasonCounters counters;
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < ReasonCounters::kReasonsMax + 3; ++i)
      counters.add("reason " + std::to_string(i));
  }
  const Totals totals = totals_of(counters);
  CHECK(totals.size() == ReasonCounters::kReasonsMax + 1);
  CHECK(totals.at("reason 0") == 2);
  CHECK(totals.at("other") == 6);
}

TEST_CASE("a long reason is cut, an empty one is another") {
  ReasonCounters counters;
  counters.add(std::string(200, 'x'));
  counters.add(std::string(300, 'x'));
  counters.add("");
  CHECK(totals_of(counters) ==
        Totals{{std::string(ReasonCounters::kReasonBytesMax, 'x'), 2}, {"other", 1}});
}

}  // namespace prophecy::sketcher
