// Of the execution stage, what it does about a write without a usable answer.
#include <utility>

#include "base/assert.hpp"
#include "pbft/core/execution/execution.hpp"

namespace prophecy::pbft {

void ExecutionStage::begin_comparison(std::uint64_t id, Sigma sigma, Bytes result,
                                      ReplicaActions& out) {
  ASSERT(!uncertain_);
  ++context_.counters.writes_uncertain;
  const Slot* slot = log_.find(sigma >> 16);
  ASSERT(slot != nullptr);
  uncertain_ = Uncertain{id, {sigma, slot->batch, {}}, std::move(result), context_.now, false, {}};
  // Nothing else asks for a snapshot now: this write is executed still.
  out.snapshot = sigma >> 16;
}

std::optional<ExecutionStage::Comparison> ExecutionStage::comparison() const {
  if (!uncertain_ || !uncertain_->is_seen) return std::nullopt;
  return Comparison{uncertain_->write.sigma >> 16, uncertain_->since,
                    uncertain_->since - uncertain_->begun};
}

void ExecutionStage::end_comparison(ExecutionStatus status, ReplicaActions& out) {
  Uncertain ended = std::move(*uncertain_);
  uncertain_.reset();
  writes_.end_comparison();
  out.resume = status == ExecutionStatus::done;
  on_executed(ended.id, status, std::move(ended.result), out);
}

void ExecutionStage::drop_uncertain(ReplicaActions& out) {
  ASSERT(comparison());
  end_comparison(ExecutionStatus::lost, out);
}

void ExecutionStage::keep_uncertain(ReplicaActions& out) {
  ASSERT(comparison());
  const std::uint64_t sequence = uncertain_->write.sigma >> 16;
  ++context_.counters.writes_doubted;
  if (!in_doubt_since_) in_doubt_since_ = sequence;
  writes_.ask_for_checkpoint(sequence);
  end_comparison(ExecutionStatus::done, out);
}

void ExecutionStage::end_doubt(bool is_wrong) {
  in_doubt_since_.reset();
  if (is_wrong) unreliable_ = true;
}

}  // namespace prophecy::pbft
