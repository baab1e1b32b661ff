// Does nothing, and answers at once with a given number of equal bytes: what agreement alone costs
// (paper, section 7.2). The first byte of an operation says whether it is a read ('r').
#pragma once

#include "pbft/services/no_state.hpp"

namespace prophecy::pbft {

class NullService : public Service {
 public:
  explicit NullService(std::size_t answer_bytes = 0) : answer_(answer_bytes, std::uint8_t{'x'}) {}

  [[nodiscard]] bool is_read(ByteView operation) const override {
    return !operation.empty() && operation.front() == 'r';
  }
  void execute(const Execution& /*execution*/, Done done) override {
    ++counters_.executed;
    done(ExecutionStatus::done, answer_);
  }
  void snapshot(PartStore& parts, SnapshotDone done) final {
    ++counters_.snapshots;
    snapshot_no_state(parts, done);
  }
  void restore(const PartStore& /*parts*/, const Digest& root, RestoreDone done) final {
    ++counters_.restores;
    restore_no_state(root, done);
  }

 private:
  Bytes answer_;
};

}  // namespace prophecy::pbft
