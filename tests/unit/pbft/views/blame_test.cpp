// When the primary is to blame, as a table.
#include "pbft/core/views/blame.hpp"

#include <vector>

#include <catch2/catch.hpp>

namespace prophecy::pbft::test {
namespace {

using Place = BlameInputs::Place;

TimePoint at(std::int64_t ms) {
  return TimePoint{} + milliseconds(ms);
}

struct Row {
  const char* text;
  BlameInputs inputs;
  Blame expected;
};

BlameInputs waiting(Place place, std::optional<TimePoint> unsettled_since,
                    std::optional<TimePoint> request_since) {
  BlameInputs inputs;
  inputs.place = place;
  inputs.patience = milliseconds(500);
  inputs.unsettled_since = unsettled_since;
  inputs.request_since = request_since;
  return inputs;
}

BlameInputs gone(BlameInputs inputs, std::int64_t ms) {
  inputs.gone_at = at(ms);
  return inputs;
}

BlameInputs slow(BlameInputs inputs, std::int64_t ms) {
  inputs.slow_at = at(ms);
  return inputs;
}

BlameInputs left_out(BlameInputs inputs, std::int64_t ms) {
  inputs.left_out_at = at(ms);
  return inputs;
}

BlameInputs asked_by_quorum(BlameInputs inputs, std::int64_t ms) {
  inputs.no_new_view_at = at(ms);
  return inputs;
}

}  // namespace

TEST_CASE("When the primary is to blame") {
  const Blame nobody;
  const auto waited = [](std::int64_t ms) {
    return Blame{at(ms), ViewChangeCause::request_waited};
  };
  const auto unsettled = [](std::int64_t ms) {
    return Blame{at(ms), ViewChangeCause::nothing_settled};
  };
  const auto is_gone = [](std::int64_t ms) { return Blame{at(ms), ViewChangeCause::primary_gone}; };
  const auto no_view = [](std::int64_t ms) { return Blame{at(ms), ViewChangeCause::no_new_view}; };
  const auto is_slow = [](std::int64_t ms) { return Blame{at(ms), ViewChangeCause::primary_slow}; };
  const auto is_left_out = [](std::int64_t ms) { return Blame{at(ms), ViewChangeCause::left_out}; };
  const BlameInputs idle = waiting(Place::backup, {}, {});
  const BlameInputs request = waiting(Place::backup, {}, at(10));
  const BlameInputs proposal = waiting(Place::backup, at(20), {});
  const std::vector<Row> table = {
      {"nothing waits", idle, nobody},
      {"a request waits at a backup", request, waited(510)},
      {"a request waits at the primary", waiting(Place::primary, {}, at(10)), nobody},
      {"a proposal is not settled at a backup", proposal, unsettled(520)},
      {"nor at the primary", waiting(Place::primary, at(20), {}), unsettled(520)},
      {"both, the request earlier", waiting(Place::backup, at(20), at(10)), waited(510)},
      {"both, the proposal earlier", waiting(Place::backup, at(5), at(10)), unsettled(505)},
      {"both at once", waiting(Place::backup, at(10), at(10)), unsettled(510)},
      {"a request that only begins to wait", waiting(Place::backup, {}, at(900)), waited(1400)},
      {"the primary is gone, and nothing waits", gone(idle, 30), nobody},
      {"it is gone, and a request waits", gone(request, 30), is_gone(30)},
      {"it was gone before the request came", gone(request, 5), is_gone(10)},
      {"it is gone, and the time-out is nearer", gone(request, 900), is_gone(510)},
      {"it is gone, and a proposal waits", gone(proposal, 30), is_gone(30)},
      {"the primary is slow", slow(request, 200), is_slow(200)},
      {"it is slow, and the time-out is nearer", slow(request, 600), waited(510)},
      {"it is slow for requests that do not count", slow(idle, 200), nobody},
      {"the primary leaves this backup out", left_out(idle, 200), is_left_out(200)},
      {"it does, and the time-out is nearer", left_out(request, 600), waited(510)},
      {"nobody leaves a primary out", left_out(waiting(Place::primary, {}, {}), 200), nobody},
      {"too few ask for the next view", waiting(Place::changing, at(5), at(10)), nobody},
      {"the next view does not begin",
       asked_by_quorum(waiting(Place::changing, at(5), at(10)), 700), no_view(700)},
      {"its primary is gone, too",
       gone(asked_by_quorum(waiting(Place::changing, {}, {}), 700), 400), no_view(400)},
      {"this replica has lost its memory",
       gone(asked_by_quorum(waiting(Place::silent, at(5), at(10)), 700), 30), nobody},
  };
  for (const Row& row : table) {
    INFO(row.text);
    CHECK(when_to_blame(row.inputs) == row.expected);
  }
}

}  // namespace prophecy::pbft::test
