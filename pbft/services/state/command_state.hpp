// The state of an origin that a program can write to its standard output, and another one can read
// from its standard input (docs/origin-state.md). The output has to be the same wherever the state
// is: no times, no order of a hash table, no names of machines.
//
// The end of an agent looks to the reading program like the end of its input. It is told how much
// there is (STATE_BYTES), holds a lock for as long as it runs, and its work is compared with what
// it was given.
#pragma once

#include "pbft/services/state/service_state.hpp"
#include "pbft/services/state/state_settings.hpp"

namespace prophecy::pbft {

class CommandState final : public ServiceState {
 public:
  explicit CommandState(CommandSettings settings) : settings_(std::move(settings)) {}

  [[nodiscard]] Result<Digest> snapshot(PartPipe& parts) override;
  [[nodiscard]] Result<> restore(PartPipe& parts, const Digest& root) override;
  [[nodiscard]] std::uint64_t fill_percent() const override {
    return static_cast<std::uint64_t>(static_cast<double>(bytes_) /
                                      static_cast<double>(settings_.bytes_max) * 100);
  }

 private:
  // Into `to`; null: only its root is wanted.
  [[nodiscard]] Result<Digest> dump(PartPipe& parts, PartPipe* to);
  [[nodiscard]] Result<> load(PartPipe& parts, const Digest& root, std::uint64_t size);

  [[nodiscard]] std::uint64_t bytes_allowed() const {
    return settings_.bytes_max + settings_.bytes_beyond;
  }

  CommandSettings settings_;
  std::uint64_t bytes_ = 0;  // of the last restore, or dump that was read to its end
};

}  // namespace prophecy::pbft
