#include "pbft/core/log.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.hpp"

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
  ASSERT(sequence >= first_retained_ && sequence - first_retained_ < slots_.size());
  Slot& slot = slots_[sequence & mask_];
  ASSERT(slot.sequence == 0 || slot.sequence == sequence);
  slot.sequence = sequence;
  return slot;
}

void Log::set_pre_prepare(Slot& slot, Frame frame) {
  ASSERT(slot.pre_prepare == nullptr);
  bytes_ += frame->size();
  ++batches_;
  slot.pre_prepare = std::move(frame);
  highest_proposed_ = std::max(highest_proposed_, slot.sequence);
}

void Log::release_below(std::uint64_t sequence) {
  for (; first_retained_ < sequence; ++first_retained_) {
    if (Slot* slot = find(first_retained_)) reset(*slot);
  }
}

void Log::reset(Slot& slot) {
  if (slot.pre_prepare) {
    bytes_ -= slot.pre_prepare->size();
    --batches_;
  }
  slot.sequence = 0;
  slot.phase = SlotPhase::empty;
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
