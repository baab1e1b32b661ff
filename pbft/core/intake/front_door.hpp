// `FrontDoor` decides about each frame that arrives, before any handler sees it: whether its sender
// is proven, where only a replica may send it, and whether the sender has any of its allowance
// left. It also seals what this replica sends to others.
//
// Messages with MACs of their own are proven by their handlers, at the price of one hash. Those
// that carry only a signature come sealed (pbft/wire/sealed.hpp), and are refused otherwise.
#pragma once

#include <optional>

#include "pbft/core/state/context.hpp"
#include "pbft/wire/frame_header.hpp"

namespace prophecy::pbft {

class FrontDoor {
 public:
  explicit FrontDoor(Context& context) : context_(context) {}

  struct Admitted {
    ByteView frame;  // within the one that came
    MessageType type = MessageType::request;
  };
  // Nothing when the frame is refused, and counted. Sets context.relay.
  [[nodiscard]] std::optional<Admitted> admit(ByteView frame);
  // Puts all that needs it under MACs, from the `first` on; a broadcast once.
  void seal(std::size_t first, ReplicaActions& out) const;

 private:
  [[nodiscard]] std::optional<Admitted> open(ByteView frame);

  Context& context_;
};

}  // namespace prophecy::pbft
