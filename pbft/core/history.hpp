// The chain of digests over what was executed, and when a checkpoint of it is due. All of it
// depends on the agreed batches alone, so all correct replicas take the same checkpoints.
#pragma once

#include <cstdint>
#include <optional>

#include "pbft/core/checkpoints.hpp"
#include "pbft/core/log.hpp"
#include "pbft/core/settings.hpp"

namespace prophecy::pbft {

class History {
 public:
  explicit History(const ReplicaSettings& settings)
      : interval_(settings.checkpoint_interval), bytes_(settings.checkpoint_bytes) {}

  // Requires executed batches in their order. Yields a claim when a checkpoint is due behind it.
  [[nodiscard]] std::optional<CheckpointClaim> append(const Slot& slot);

 private:
  std::uint64_t interval_;
  std::uint64_t bytes_;
  Digest order_{};
  Sha256 results_;
  bool results_complete_ = true;
  std::uint64_t batches_since_ = 0;
  std::uint64_t bytes_since_ = 0;
};

}  // namespace prophecy::pbft
