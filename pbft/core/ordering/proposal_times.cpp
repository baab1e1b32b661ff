#include "pbft/core/ordering/proposal_times.hpp"

#include <algorithm>

namespace prophecy::pbft {

void ProposalTimes::note_vote(std::uint64_t sequence, const Digest& batch, TimePoint now,
                              std::uint64_t done) {
  release(done);
  if (sequence > done) voted_for_.try_emplace({sequence, batch}, now);
}

void ProposalTimes::note_shown(std::uint64_t sequence, const Digest& batch, std::uint64_t done) {
  release(done);
  if (sequence > done) shown_.insert_or_assign(sequence, batch);
}

void ProposalTimes::note_beyond(std::uint64_t sequence) {
  shown_beyond_ = std::max(shown_beyond_, sequence);
}

void ProposalTimes::note_taken(const Taken& taken, TimePoint now, std::uint64_t done) {
  ++taken_.all;
  const auto voted = voted_for_.find({taken.sequence, taken.batch});
  if (voted != voted_for_.end() && now - voted->second >= TakenProposals::kLateAfter) {
    if (!taken.is_weak) ++taken_.late;
    const auto shown = shown_.find(taken.sequence);
    const bool was_shown =
        taken.sequence <= shown_beyond_ || (shown != shown_.end() && shown->second == taken.batch);
    if (!taken.is_committed && !was_shown && taken.is_named) ++taken_.overtaken;
  }
  release(done);
  voted_for_.erase(voted_for_.lower_bound({taken.sequence, Digest{}}),
                   voted_for_.lower_bound({taken.sequence + 1, Digest{}}));
  shown_.erase(taken.sequence);
}

void ProposalTimes::clear() {
  voted_for_.clear();
  shown_.clear();
  shown_beyond_ = 0;
}

void ProposalTimes::release(std::uint64_t done) {
  voted_for_.erase(voted_for_.begin(), voted_for_.lower_bound({done + 1, Digest{}}));
  shown_.erase(shown_.begin(), shown_.upper_bound(done));
}

}  // namespace prophecy::pbft
