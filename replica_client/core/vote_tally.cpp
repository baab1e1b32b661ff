#include "replica_client/core/vote_tally.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace prophecy::replica_client {

VoteTally::VoteTally(std::uint32_t origins, std::uint32_t faults)
    : needed_(faults + 1), votes_(origins), left_(origins) {
  ASSERT(origins >= 2 * faults + 1 && origins <= kReplicasMax);
}

void VoteTally::on_vote(NodeId origin, const Sha256::Digest& answer) {
  note_voted(origin);
  votes_[origin] = answer;
  if (!agreed_ && equal_to(answer) >= needed_) agreed_ = answer;
  decide();
}

void VoteTally::on_no_vote(NodeId origin) {
  note_voted(origin);
  decide();
}

void VoteTally::note_voted(NodeId origin) {
  const std::uint64_t bit = std::uint64_t{1} << origin;
  ASSERT(origin < votes_.size() && (voted_ & bit) == 0);
  voted_ |= bit;
  --left_;
}

void VoteTally::decide() {
  if (state_ != State::open) return;
  if (agreed_) {
    state_ = State::agreed;
  } else if (most_equal() + left_ < needed_) {
    const auto answers = std::count_if(votes_.begin(), votes_.end(),
                                       [](const auto& vote) { return vote.has_value(); });
    const bool enough = answers >= static_cast<std::ptrdiff_t>(needed_);
    state_ = enough ? State::disputed : State::starved;
  }
}

std::uint32_t VoteTally::equal_to(const Sha256::Digest& answer) const {
  return static_cast<std::uint32_t>(std::count(votes_.begin(), votes_.end(), answer));
}

std::uint32_t VoteTally::most_equal() const {
  std::uint32_t most = 0;
  for (const auto& vote : votes_) {
    if (vote) most = std::max(most, equal_to(*vote));
  }
  return most;
}

std::uint64_t VoteTally::refuted() const {
  ASSERT(state_ == State::agreed);
  std::uint64_t refuted = 0;
  for (NodeId origin = 0; origin < votes_.size(); ++origin) {
    if (votes_[origin] && votes_[origin] != agreed_) refuted |= std::uint64_t{1} << origin;
  }
  return refuted;
}

}  // namespace prophecy::replica_client
