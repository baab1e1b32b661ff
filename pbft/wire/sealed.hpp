// A frame of one replica to others that carries another message, under MACs of the replica that
// sends it: for messages that a signature proves (its own, or such as it relays), and for contents
// and requests that prove themselves.
//
//   sealed  := header(20) frame:sized authenticator
//
// So a receiver knows who causes the work of checking a signature before it begins, and strangers
// cause none.
#pragma once

#include <optional>

#include "pbft/auth/key_ring.hpp"
#include "pbft/wire/frame.hpp"
#include "pbft/wire/frame_header.hpp"

namespace prophecy::pbft {

struct SealedMessage {
  NodeId replica = 0;
  ByteView frame;
  ByteView content;
  ByteView authenticator;
};

// Such a message is taken from a replica only inside a sealed one.
[[nodiscard]] constexpr bool is_only_sealed(MessageType type) {
  return type == MessageType::checkpoint || type == MessageType::view_change ||
         type == MessageType::new_view || type == MessageType::rejoin ||
         type == MessageType::forward;
}
// Such a message may be inside. Another replica's proposal is, for the sake of its content.
[[nodiscard]] constexpr bool may_be_sealed(MessageType type) {
  return is_only_sealed(type) || type == MessageType::pre_prepare;
}
// Whether a replica has to seal this frame before it sends it to another one.
[[nodiscard]] bool needs_seal(ByteView frame, NodeId self);

[[nodiscard]] Frame encode_sealed(ByteView frame, const KeyRing& keys);
[[nodiscard]] std::optional<SealedMessage> decode_sealed(ByteView frame, std::uint32_t replicas);

}  // namespace prophecy::pbft
