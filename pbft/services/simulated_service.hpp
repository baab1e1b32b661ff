// Simulated work (paper, section 7.3): keeps the processor busy for a while, then answers with a
// given number of equal bytes. The first byte of an operation says whether it is a read ('r').
#pragma once

#include "base/clock.hpp"
#include "pbft/services/no_state.hpp"

namespace prophecy::pbft {

class SimulatedService final : public Service {
 public:
  SimulatedService(Duration busy, std::size_t answer_bytes)
      : busy_(busy), answer_(answer_bytes, std::uint8_t{'x'}) {}

  [[nodiscard]] bool is_read(ByteView operation) const override {
    return !operation.empty() && operation.front() == 'r';
  }
  void execute(const Execution& /*execution*/, Done done) override {
    // A busy wait on purpose: a sleep would leave the processor to others.
    const TimePoint end = std::chrono::steady_clock::now() + busy_;
    while (std::chrono::steady_clock::now() < end) {
    }
    ++counters_.executed;
    done(ExecutionStatus::done, answer_);
  }
  void snapshot(PartStore& parts, SnapshotDone done) override {
    ++counters_.snapshots;
    snapshot_no_state(parts, done);
  }
  void restore(const PartStore& /*parts*/, const Digest& root, RestoreDone done) override {
    ++counters_.restores;
    restore_no_state(root, done);
  }

 private:
  Duration busy_;
  Bytes answer_;
};

}  // namespace prophecy::pbft
