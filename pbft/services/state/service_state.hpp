// A state that can be taken out as parts and put back: blocking work, for a StateKeeper's thread.
#pragma once

#include "pbft/services/state/part_pipe.hpp"

namespace prophecy::pbft {

class ServiceState {
 public:
  virtual ~ServiceState() = default;

  // Takes what it needs before it is used; on the event loop's thread, without blocking.
  [[nodiscard]] virtual Result<> open() { return {}; }
  // As Service::snapshot() and restore() say. Both end soon, with an error, once the pipe is
  // closed.
  [[nodiscard]] virtual Result<Digest> snapshot(PartPipe& parts) = 0;
  [[nodiscard]] virtual Result<> restore(PartPipe& parts, const Digest& root) = 0;
  // Of what it may hold, as of the last restore that succeeded or snapshot that could count it, be
  // it that it failed: equal states are as full. 100 and more: full.
  [[nodiscard]] virtual std::uint64_t fill_percent() const = 0;
};

}  // namespace prophecy::pbft
