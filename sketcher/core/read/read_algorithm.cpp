#include "sketcher/core/read/read_algorithm.hpp"

#include "base/assert.hpp"

namespace prophecy::sketcher {

ReadStep ReadAlgorithm::on_request(const Lookup& first_lookup, bool avoids_fast_read) {
  ASSERT(state_ == State::start);
  if (first_lookup.has_value()) first_expected_ = first_lookup->answer;
  const bool known = first_lookup.has_value() && first_lookup->mark != Mark::blacklisted &&
                     (first_lookup->answer != kNoSketch || first_lookup->mark == Mark::whitelisted);
  if (known && avoids_fast_read && first_lookup->mark == Mark::none) {
    expected_ = first_expected_;
    state_ = State::asking_group;
    return ReadStep::ask_group;
  }
  state_ = known ? State::asking_one : State::asking_group;
  return known ? ReadStep::ask_one : ReadStep::ask_group;
}

ReadStep ReadAlgorithm::on_fast_answer(const std::optional<Sketch>& answer,
                                       const Lookup& second_lookup, bool forced) {
  ASSERT(state_ == State::asking_one);
  fast_answered_ = true;
  fast_answer_ = answer;
  const bool whitelisted = second_lookup.has_value() && second_lookup->mark == Mark::whitelisted;
  if (second_lookup.has_value() && second_lookup->mark == Mark::none &&
      second_lookup->answer != kNoSketch) {
    expected_ = second_lookup->answer;
  }
  // Whitelisting trusts an origin's content, not its troubles: a 503 is no answer to deliver.
  const bool valid = answer.has_value() && (whitelisted || answer == expected_);
  if (valid && !forced) {
    state_ = State::done;
    return whitelisted ? ReadStep::deliver_unverified : ReadStep::deliver_fast;
  }
  forced_ = valid;
  state_ = State::asking_group;
  return ReadStep::ask_group;
}

ReadStep ReadAlgorithm::on_fast_failure() {
  ASSERT(state_ == State::asking_one);
  state_ = State::asking_group;
  return ReadStep::ask_group;
}

Verdict ReadAlgorithm::on_replicated_answer(const std::optional<Sketch>& answer) {
  ASSERT(state_ == State::asking_group);
  state_ = State::done;
  Verdict verdict;
  if (forced_) return verdict;
  verdict.compared = expected_.has_value();
  verdict.transition = verdict.compared && answer != expected_;
  // Only where the history has agreed with the group all the while: when the state has just
  // changed, a correct origin may be behind, or have made its answer before the change.
  const bool unchanged = answer.has_value() && answer == expected_ && answer == first_expected_;
  verdict.divergence = unchanged && fast_answered_ && fast_answer_ != answer;
  return verdict;
}

}  // namespace prophecy::sketcher
