// The state of an origin that a program can write to its standard output, and another one can read
// from its standard input (docs/origin-state.md). The output has to be the same wherever the state
// is: no times, no order of a hash table, no names of machines.
#pragma once

#include "pbft/services/state/service_state.hpp"
#include "pbft/services/state/state_settings.hpp"

namespace prophecy::pbft {

class CommandState final : public ServiceState {
 public:
  explicit CommandState(CommandSettings settings) : settings_(std::move(settings)) {}

  [[nodiscard]] Result<Digest> snapshot(PartPipe& parts) override;
  [[nodiscard]] Result<> restore(PartPipe& parts, const Digest& root) override;

 private:
  CommandSettings settings_;
};

}  // namespace prophecy::pbft
