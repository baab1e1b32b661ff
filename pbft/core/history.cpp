#include "pbft/core/history.hpp"

#include "base/assert.hpp"

namespace prophecy::pbft {

std::optional<CheckpointClaim> History::append(const Slot& slot) {
  ASSERT(slot.execution == SlotExecution::executed);
  Sha256 chain;
  chain.update(order_);
  chain.update(slot.batch);
  order_ = chain.finish();
  for (const Digest& result : slot.results)
    results_.update(result);
  if (slot.result_unavailable) results_complete_ = false;
  ++batches_since_;
  bytes_since_ += slot.operation_bytes;
  if (batches_since_ < interval_ && bytes_since_ < bytes_) return std::nullopt;

  CheckpointClaim claim{slot.sequence, order_, {}};
  const Digest results = results_.finish();
  if (results_complete_) claim.results = results;
  results_ = Sha256();
  results_complete_ = true;
  batches_since_ = 0;
  bytes_since_ = 0;
  return claim;
}

}  // namespace prophecy::pbft
