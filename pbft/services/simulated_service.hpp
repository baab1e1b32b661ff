// Simulated work (paper, section 7.3): keeps the processor busy for a while, then answers as the
// null service does.
#pragma once

#include <utility>

#include "base/clock.hpp"
#include "pbft/services/null_service.hpp"

namespace prophecy::pbft {

class SimulatedService final : public NullService {
 public:
  SimulatedService(Duration busy, std::size_t answer_bytes)
      : NullService(answer_bytes), busy_(busy) {}

  void execute(const Execution& execution, Done done) override {
    // A busy wait on purpose: a sleep would leave the processor to others.
    const TimePoint end = std::chrono::steady_clock::now() + busy_;
    while (std::chrono::steady_clock::now() < end) {
    }
    NullService::execute(execution, std::move(done));
  }

 private:
  Duration busy_;
};

}  // namespace prophecy::pbft
