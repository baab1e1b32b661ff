// The chain of digests over what was handed out for execution, and when a checkpoint of it is due.
// All of it depends on the agreed batches alone, so all correct replicas take the same checkpoints.
#pragma once

#include <cstdint>

#include "pbft/core/state/log.hpp"
#include "pbft/core/state/settings.hpp"

namespace prophecy::pbft {

class History {
 public:
  explicit History(const ReplicaSettings& settings)
      : interval_(settings.checkpoint_interval), bytes_(settings.checkpoint_bytes) {}

  // Requires batches in their order, from the last checkpoint on. True when a checkpoint is due
  // behind this one.
  [[nodiscard]] bool append(const Slot& slot);
  // Goes on behind a checkpoint.
  void reset(const Digest& digest);
  [[nodiscard]] const Digest& digest() const { return digest_; }

 private:
  std::uint64_t interval_;
  std::uint64_t bytes_;
  Digest digest_{};
  std::uint64_t batches_since_ = 0;
  std::uint64_t bytes_since_ = 0;
};

}  // namespace prophecy::pbft
