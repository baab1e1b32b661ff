// The use of the record behind the base, by what this replica knows.
#include "pbft/core/recovery/record_use.hpp"

#include <catch2/catch.hpp>

namespace prophecy::pbft::test {

TEST_CASE("While the service has its state, the record is a restart's, until no base comes") {
  RecordFacts facts;
  facts.way = WayBack::state;
  facts.is_base_coming = GENERATE(false, true);
  facts.is_state_claimed = GENERATE(false, true);
  facts.are_replies_claimed = GENERATE(false, true);
  facts.is_claim_recent = GENERATE(false, true);
  CHECK(record_use(facts) == RecordUse::restart);
  SECTION("since the disk takes none") {
    facts.is_base_refused = true;
    CHECK(record_use(facts) == RecordUse::spare);
  }
  SECTION("since the state is not told") {
    facts.is_untold = true;
    CHECK(record_use(facts) == RecordUse::spare);
  }
}

namespace {

struct Row {
  bool state;
  bool replies;
  bool recent;
  bool leads_on;
  RecordUse use;
};

RecordFacts facts_of(const Row& row) {
  RecordFacts facts;
  facts.is_state_claimed = row.state;
  facts.are_replies_claimed = row.replies;
  facts.is_claim_recent = row.recent;
  facts.way = row.leads_on ? WayBack::state : WayBack::none;
  return facts;
}

}  // namespace

TEST_CASE("Once the service has lost its state, what others have decides about the record") {
  using enum RecordUse;
  const Row row = GENERATE(
      // This replica knows of nobody who has anything. Nobody goes beyond the record then.
      Row{false, false, false, false, only_way}, Row{false, false, false, true, only_way},
      Row{false, false, true, false, only_way}, Row{false, false, true, true, only_way},
      // They answer, which leads to no state.
      Row{false, true, false, false, restart}, Row{false, true, false, true, only_way},
      Row{false, true, true, false, restart}, Row{false, true, true, true, only_way},
      // They have a state, or had one when this replica was started.
      Row{true, false, false, false, spare}, Row{true, false, false, true, only_way},
      Row{true, false, true, false, spare}, Row{true, false, true, true, spare},
      Row{true, true, false, false, spare}, Row{true, true, false, true, only_way},
      Row{true, true, true, false, spare}, Row{true, true, true, true, spare});
  RecordFacts facts = facts_of(row);
  facts.is_service_lost = true;
  CHECK(record_use(facts) == row.use);
  // A base that is coming is waited for first, unless the disk takes none.
  facts.is_base_coming = true;
  CHECK(record_use(facts) != spare);
  facts.is_base_refused = true;
  CHECK(record_use(facts) == spare);
}

TEST_CASE("A base without a state leads to none, and is kept no longer than others answer") {
  RecordFacts facts;
  facts.is_service_lost = true;
  facts.way = WayBack::sessions;
  facts.are_replies_claimed = GENERATE(false, true);
  facts.is_claim_recent = GENERATE(false, true);
  CHECK(record_use(facts) ==
        (facts.are_replies_claimed ? RecordUse::restart : RecordUse::only_way));
}

TEST_CASE(
    "A service that is well, and cut off from what comes next, is no better than a lost one") {
  using enum RecordUse;
  const Row row =
      GENERATE(Row{false, false, true, false, only_way}, Row{false, true, true, false, restart},
               Row{true, true, true, false, spare}, Row{true, false, false, false, spare});
  CHECK(record_use(facts_of(row)) == row.use);
}

}  // namespace prophecy::pbft::test
