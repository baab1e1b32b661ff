#include "pbft/core/log.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {

Log::Log(std::uint64_t span, std::uint32_t replicas)
    : slots_(std::bit_ceil(span), Slot(replicas)), mask_(slots_.size() - 1) {}

Slot* Log::find(std::uint64_t sequence) {
  Slot& slot = slots_[sequence & mask_];
  return sequence != 0 && slot.sequence == sequence ? &slot : nullptr;
}

const Slot* Log::find(std::uint64_t sequence) const {
  const Slot& slot = slots_[sequence & mask_];
  return sequence != 0 && slot.sequence == sequence ? &slot : nullptr;
}

Slot& Log::open(std::uint64_t sequence) {
  ASSERT(reaches(sequence));
  Slot& slot = slots_[sequence & mask_];
  ASSERT(slot.sequence == 0 || slot.sequence == sequence);
  slot.sequence = sequence;
  return slot;
}

void Log::note_proposal(Slot& slot, const Digest& batch, std::uint64_t view, Frame content) {
  auto known = std::find_if(slot.proposals.begin(), slot.proposals.end(),
                            [&](const Proposal& p) { return p.batch == batch; });
  if (known == slot.proposals.end()) {
    if (slot.proposals.size() == kProposalsMax) forget_oldest_proposal(slot);
    slot.proposals.push_back({batch, view, nullptr});
    known = std::prev(slot.proposals.end());
  }
  known->view = std::max(known->view, view);
  if (known->content == nullptr && content != nullptr) {
    bytes_ += content->size();
    ++batches_;
    known->content = std::move(content);
  }
  highest_known_ = std::max(highest_known_, slot.sequence);
  highest_proposed_ = std::max(highest_proposed_, slot.sequence);
}

Frame Log::content_of(const Slot& slot, const Digest& batch) {
  const auto known = std::find_if(slot.proposals.begin(), slot.proposals.end(),
                                  [&](const Proposal& p) { return p.batch == batch; });
  return known != slot.proposals.end() ? known->content : nullptr;
}

// What is prepared here is not forgotten: others may depend on this replica for it. Of the others
// only the newest can still win, for a quorum has gone on to newer views.
void Log::forget_oldest_proposal(Slot& slot) {
  const auto is_kept = [&](const Proposal& p) {
    return slot.prepared.has_value() && slot.prepared->batch == p.batch;
  };
  const auto oldest = std::min_element(
      slot.proposals.begin(), slot.proposals.end(), [&](const Proposal& a, const Proposal& b) {
        return std::pair(is_kept(a), a.view) < std::pair(is_kept(b), b.view);
      });
  forget_content(*oldest);
  slot.proposals.erase(oldest);
}

void Log::forget_content(Proposal& proposal) {
  if (proposal.content == nullptr) return;
  bytes_ -= proposal.content->size();
  --batches_;
  proposal.content.reset();
}

void Log::enter_view(std::uint64_t stable, std::uint64_t highest_proposed) {
  for (Slot& slot : slots_) {
    if (slot.sequence == 0) continue;
    const bool settled = slot.phase == SlotPhase::committed || slot.phase == SlotPhase::certified;
    if (settled && slot.sequence <= stable) continue;
    slot.phase = SlotPhase::empty;
    slot.pre_prepare.reset();
    slot.own_prepare.reset();
    slot.own_commit.reset();
    slot.prepares.clear();
    slot.commits.clear();
    if (slot.execution == SlotExecution::none) slot.requests.clear();
  }
  highest_proposed_ = highest_proposed;
}

void Log::release_below(std::uint64_t sequence) {
  for (; first_retained_ < sequence; ++first_retained_) {
    if (Slot* slot = find(first_retained_)) reset(*slot);
  }
}

void Log::reset(Slot& slot) {
  for (Proposal& proposal : slot.proposals)
    forget_content(proposal);
  slot.proposals.clear();
  slot.prepared.reset();
  slot.decisions.clear();
  slot.sequence = 0;
  slot.phase = SlotPhase::empty;
  slot.execution = SlotExecution::none;
  slot.pre_prepare.reset();
  slot.requests.clear();
  slot.own_prepare.reset();
  slot.own_commit.reset();
  slot.prepares.clear();
  slot.commits.clear();
  slot.results.clear();
  slot.operation_bytes = 0;
  slot.results_missing = 0;
  slot.result_unavailable = false;
}

}  // namespace prophecy::pbft
