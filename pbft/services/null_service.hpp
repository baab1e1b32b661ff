// Answers nothing, at once: what agreement alone costs (paper, section 7.2). The first byte of an
// operation says whether it is a read ('r').
#pragma once

#include "pbft/services/service.hpp"

namespace prophecy::pbft {

class NullService final : public Service {
 public:
  [[nodiscard]] bool is_read(ByteView operation) const override {
    return !operation.empty() && operation.front() == 'r';
  }
  void execute(const Execution& /*execution*/, Done done) override {
    ++counters_.executed;
    done(ExecutionStatus::done, {});
  }
};

}  // namespace prophecy::pbft
