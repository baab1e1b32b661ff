// What may stand between a replica and its network. prophecy-replica has none; the tests have
// agents with real keys, connections and origins that do not behave as they should, and this is
// where they deviate.
//
// Called on the node's thread, by the node alone; outlives it.
#pragma once

#include <functional>

#include "base/bytes.hpp"
#include "pbft/core/state/actions.hpp"

namespace prophecy::pbft {

class FrameGate {
 public:
  // Sends a frame at once. Valid while the node runs.
  using Pass = std::function<void(Outgoing)>;

  virtual ~FrameGate() = default;
  // False when the core does not get to see the frame.
  [[nodiscard]] virtual bool receive(ByteView frame) = 0;
  // Passes, now or later, what is sent in place of `honest`; nothing to the replica itself.
  virtual void send(Outgoing honest, const Pass& pass) = 0;
};

}  // namespace prophecy::pbft
