#include "pbft/core/state/log.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {

BatchRequest batch_request(const RequestMessage& request, ByteView bytes) {
  return {.client = request.client,
          .session = request.session,
          .timestamp = request.timestamp,
          .replier = request.replier,
          .operation_at = static_cast<std::uint32_t>(request.operation.data() - bytes.data()),
          .operation_size = operation_bytes(request),
          .by_digest = request.body.has_value(),
          .epoch = request.epoch};
}

std::vector<BatchRequest> batch_requests(const PrePrepareMessage& message, const Bytes& frame) {
  std::vector<BatchRequest> requests;
  requests.reserve(message.requests.size());
  for (const RequestMessage& request : message.requests)
    requests.push_back(batch_request(request, frame));
  return requests;
}

Log::Log(std::uint64_t span, std::uint32_t replicas, std::uint64_t body_cost, PartStore& parts)
    : shelf_(parts),
      body_cost_(body_cost),
      slots_(std::bit_ceil(span), Slot(replicas)),
      mask_(slots_.size() - 1),
      unstable_bytes_(replicas) {}

std::uint64_t Log::bytes_with(const Frame& content, const std::vector<BodyHandle>& bodies) const {
  if (content == nullptr) return 0;
  return content->size() + bytes_of(bodies) + body_cost_ * bodies.size();
}

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

void Log::note_proposal(Slot& slot, const Digest& batch, std::uint64_t view, Frame content,
                        std::vector<BodyHandle> bodies) {
  auto known = std::find_if(slot.proposals.begin(), slot.proposals.end(),
                            [&](const Proposal& p) { return p.batch == batch; });
  if (known == slot.proposals.end()) {
    if (slot.proposals.size() == kProposalsMax) forget_oldest_proposal(slot);
    slot.proposals.push_back({batch, view, nullptr, {}, {}, 0, {}});
    known = std::prev(slot.proposals.end());
  }
  if (view > known->view) {
    known->view = view;
    std::rotate(known, known + 1, slot.proposals.end());
    known = std::prev(slot.proposals.end());
  }
  if (known->content == nullptr && content != nullptr) {
    if (known->shelved) shelf_.drop(*std::exchange(known->shelved, std::nullopt));
    if (known->bytes == 0) {
      known->bytes = bytes_with(content, bodies);
      if (slot.sequence > stable_) known->counted_for = slot.proposer;
      if (known->counted_for) unstable_bytes_[*known->counted_for] += known->bytes;
    }
    bytes_ += known->bytes;
    ++batches_;
    known->content = std::move(content);
    known->bodies = std::move(bodies);
  }
  highest_known_ = std::max(highest_known_, slot.sequence);
  highest_proposed_ = std::max(highest_proposed_, slot.sequence);
}

void Log::set_pre_prepare(Slot& slot, Frame content, std::vector<BodyHandle> bodies) {
  if (slot.sequence > stable_) {
    view_bytes_ += bytes_with(content, bodies);
    view_bytes_ -= bytes_with(slot.pre_prepare, slot.bodies);
  }
  slot.pre_prepare = std::move(content);
  slot.bodies = std::move(bodies);
}

void Log::note_stable(std::uint64_t stable) {
  if (stable <= stable_) return;
  const std::uint64_t last = std::min(stable, first_retained_ + capacity() - 1);
  for (std::uint64_t sequence = std::max(stable_ + 1, first_retained_); sequence <= last;
       ++sequence) {
    Slot* slot = find(sequence);
    if (slot == nullptr) continue;
    view_bytes_ -= bytes_with(slot->pre_prepare, slot->bodies);
    for (Proposal& proposal : slot->proposals)
      count_as_stable(proposal);
  }
  stable_ = stable;
}

Frame Log::content_of(const Slot& slot, const Digest& batch) const {
  const auto known = std::find_if(slot.proposals.begin(), slot.proposals.end(),
                                  [&](const Proposal& p) { return p.batch == batch; });
  if (known == slot.proposals.end()) return nullptr;
  return known->shelved ? shelf_.read(*known->shelved) : known->content;
}

// What is prepared here is not forgotten: others may depend on this replica for it.
void Log::forget_oldest_proposal(Slot& slot) {
  const auto is_kept = [&](const Proposal& p) {
    return (slot.prepared && slot.prepared->batch == p.batch) || slot.decided == p.batch;
  };
  const auto oldest = std::min_element(
      slot.proposals.begin(), slot.proposals.end(), [&](const Proposal& a, const Proposal& b) {
        return std::pair(is_kept(a), a.view) < std::pair(is_kept(b), b.view);
      });
  forget_content(slot.sequence, *oldest);
  slot.proposals.erase(oldest);
}

void Log::leave_memory(Proposal& proposal) {
  if (proposal.content == nullptr) return;
  bytes_ -= proposal.bytes;
  --batches_;
  proposal.content.reset();
}

void Log::count_as_stable(Proposal& proposal) {
  if (const auto proposer = std::exchange(proposal.counted_for, std::nullopt)) {
    unstable_bytes_[*proposer] -= proposal.bytes;
  }
}

// The journal has the content for as long as a restart needs it, and the bodies lie beside it. Of
// what is not whole, nothing was promised.
void Log::forget_content(std::uint64_t sequence, Proposal& proposal) {
  leave_memory(proposal);
  if (proposal.shelved) shelf_.drop(*std::exchange(proposal.shelved, std::nullopt));
  count_as_stable(proposal);
  if (sequence > bodies_gone_ && !proposal.bodies.empty() && all_whole(proposal.bodies)) {
    auto& left = left_bodies_[sequence];
    for (const BodyHandle& body : proposal.bodies) {
      if (std::find(left.begin(), left.end(), body) != left.end()) continue;  // it came once more
      left.push_back(body);
      left_bytes_ += bytes_of({body});
    }
  }
  proposal.bodies.clear();
  proposal.bytes = 0;
}

void Log::enter_view(std::uint64_t stable, std::uint64_t highest_proposed) {
  for (Slot& slot : slots_) {
    if (slot.sequence == 0) continue;
    const bool settled = slot.phase == SlotPhase::committed || slot.phase == SlotPhase::certified;
    if (settled && slot.sequence <= stable) continue;
    slot.phase = SlotPhase::empty;
    slot.proposer.reset();
    slot.is_proposed = false;
    set_pre_prepare(slot, nullptr, {});
    slot.own_prepare.reset();
    slot.own_commit.reset();
    slot.prepares.clear();
    slot.commits.clear();
    if (slot.execution == SlotExecution::none) slot.requests.clear();
  }
  highest_proposed_ = highest_proposed;
}

void Log::release_below(std::uint64_t sequence) {
  // A restart, or a transfer of state, may pass over any number of them.
  const std::uint64_t last = std::min(sequence, first_retained_ + capacity());
  for (; first_retained_ < last; ++first_retained_) {
    if (Slot* slot = find(first_retained_)) reset(*slot);
  }
  first_retained_ = std::max(first_retained_, sequence);
}

void Log::let_bodies_go(std::uint64_t last) {
  bodies_gone_ = std::max(bodies_gone_, last);
  while (!left_bodies_.empty() && left_bodies_.begin()->first <= bodies_gone_) {
    left_bytes_ -= bytes_of(left_bodies_.begin()->second);
    left_bodies_.erase(left_bodies_.begin());
  }
}

void Log::shelve(std::uint64_t view, std::uint64_t bytes_max) {
  while (bytes_ > bytes_max) {
    Proposal* oldest = nullptr;
    for (Slot& slot : slots_) {
      for (Proposal& proposal : slot.proposals) {
        const bool agreed_on = slot.phase != SlotPhase::empty && slot.batch == proposal.batch;
        const bool wanted = slot.sequence <= stable_ || agreed_on || proposal.view >= view ||
                            slot.execution != SlotExecution::none || proposal.content == nullptr;
        if (wanted || (oldest != nullptr && proposal.view >= oldest->view)) continue;
        oldest = &proposal;
      }
    }
    if (oldest == nullptr) return;
    oldest->shelved = shelf_.put(*oldest->content);
    if (!oldest->shelved) return;  // no room: it stays where it is
    leave_memory(*oldest);
  }
}

void Log::forget_unexecuted(std::uint64_t first, std::uint64_t last) {
  for (Slot& slot : slots_) {
    if (slot.sequence < first || slot.sequence > last || slot.execution != SlotExecution::none) {
      continue;
    }
    const std::uint64_t sequence = slot.sequence;
    reset(slot);
    slot.sequence = sequence;
  }
}

void Log::forget_votes_of(NodeId replica) {
  for (Slot& slot : slots_) {
    for (VoteSet* votes : {&slot.prepares, &slot.commits, &slot.decisions})
      votes->forget(replica);
  }
}

void Log::forget_execution(Slot& slot) {
  slot.execution = SlotExecution::none;
  slot.requests.clear();
  slot.operation_bytes = 0;
  slot.results_missing = 0;
}

std::uint64_t Log::stable_content_bytes(std::uint64_t first) const {
  std::uint64_t bytes = 0;
  const std::uint64_t last = std::min(stable_, first_retained_ + capacity() - 1);
  for (std::uint64_t sequence = std::max(first, first_retained_); sequence <= last; ++sequence) {
    const Slot* slot = find(sequence);
    if (slot == nullptr) continue;
    for (const Proposal& proposal : slot->proposals)
      bytes += proposal.content != nullptr ? proposal.content->size() : 0;
  }
  return bytes;
}

void Log::reset(Slot& slot) {
  set_pre_prepare(slot, nullptr, {});
  for (Proposal& proposal : slot.proposals)
    forget_content(slot.sequence, proposal);
  slot.proposals.clear();
  slot.prepared.reset();
  slot.decisions.clear();
  slot.decided.reset();
  slot.sequence = 0;
  slot.phase = SlotPhase::empty;
  slot.proposer.reset();
  slot.is_proposed = false;
  slot.execution = SlotExecution::none;
  slot.requests.clear();
  slot.input = {};
  slot.own_prepare.reset();
  slot.own_commit.reset();
  slot.prepares.clear();
  slot.commits.clear();
  slot.operation_bytes = 0;
  slot.results_missing = 0;
}

}  // namespace prophecy::pbft
