// `EpochFence` holds the newest epoch that a group has ordered, and refuses writes of older ones.
//
// An epoch is a number that clients agree on among themselves: the view of a ring of sketchers
// (docs/ring.md). A request may name the epoch that its client has made it in. The newest one that
// was ordered is part of the state that replicas agree on. A write of an older epoch is ordered as
// any request, and answered with a refusal (pbft/wire/epoch_refusal.hpp) in place of being
// executed: by all correct replicas alike. So once a request of an epoch is ordered, no write of an
// earlier one is executed any more, however late it comes. Requests without an epoch pass.
//
// One request raises the epoch by kEpochStepMax at most: a client cannot lock out the others for
// ever. Beyond it, the epoch stays as it is, and a write is refused.
//
// Deterministic; follows from the order alone.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"
#include "pbft/core/state/counters.hpp"

namespace prophecy::pbft {

class EpochFence {
 public:
  explicit EpochFence(ReplicaCounters& counters) : counters_(counters) {}

  // The next request of the order names this epoch; 0: none. Returns how it is refused if it is a
  // write; empty: it is not.
  [[nodiscard]] Bytes pass(std::uint64_t epoch);

  // 0: no request has named one.
  [[nodiscard]] std::uint64_t newest() const { return newest_; }
  // A checkpoint's state takes the place of the present one.
  void reset(std::uint64_t newest) { newest_ = newest; }

 private:
  ReplicaCounters& counters_;
  std::uint64_t newest_ = 0;
};

}  // namespace prophecy::pbft
