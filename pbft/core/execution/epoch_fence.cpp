#include "pbft/core/execution/epoch_fence.hpp"

#include "pbft/wire/epoch_refusal.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {

Bytes EpochFence::pass(std::uint64_t epoch) {
  if (epoch == 0) return {};
  if (epoch > newest_ && epoch - newest_ > kEpochStepMax) {
    ++counters_.epochs_too_far;
    return encode(EpochRefusal{EpochRefusal::Kind::too_new, newest_});
  }
  if (epoch < newest_) return encode(EpochRefusal{EpochRefusal::Kind::too_old, newest_});
  newest_ = epoch;
  return {};
}

}  // namespace prophecy::pbft
