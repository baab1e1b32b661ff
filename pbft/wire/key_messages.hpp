// By which two members tell each other their keys of the moment (pbft/core/key_exchange.hpp), in
// both directions of one connection:
//
//   opener                                 acceptor
//     | ---- KeyAsk: nonce a ---------------> |
//     | <--- KeyTell: key, answers a, b ----- |   signed
//     | ---- KeyTell: key, answers b -------> |   signed
//
// A KeyRefusal says that a KeyTell was not signed by the member that it names. Nothing proves it:
// it is for the log.
#pragma once

#include <array>
#include <optional>

#include "pbft/auth/key_ring.hpp"
#include "pbft/wire/frame.hpp"
#include "pbft/wire/frame_header.hpp"

namespace prophecy::pbft {

using Nonce = std::array<std::uint8_t, 16>;

struct KeyAskMessage {
  NodeId from = 0;
  NodeId to = 0;
  Nonce nonce{};
};

struct KeyTellMessage {
  NodeId from = 0;
  NodeId to = 0;
  Nonce answered{};  // what the other has asked with, so that this is not an old one
  Nonce asked{};     // asks for the other's key in turn; zero: does not
  KeyAnnouncement announcement;
  std::uint32_t refresh_milliseconds = 0;  // how often the sender makes a new key
  ByteView content;
  ByteView signature;
};

struct KeyRefusalMessage {
  NodeId from = 0;
  NodeId to = 0;
  Nonce nonce{};  // the acceptor's
};

[[nodiscard]] Frame encode_key_ask(NodeId to, const Nonce& nonce, const KeyRing& keys);
// Uses all fields but `from`, `content` and `signature`.
[[nodiscard]] Frame encode_key_tell(const KeyTellMessage& message, const KeyRing& keys);
[[nodiscard]] Frame encode_key_refusal(NodeId to, const Nonce& nonce, const KeyRing& keys);

[[nodiscard]] std::optional<KeyAskMessage> decode_key_ask(ByteView frame);
// A replica's has no sessions but {0, 1}; a client's lie within bounds.
[[nodiscard]] std::optional<KeyTellMessage> decode_key_tell(ByteView frame);
[[nodiscard]] std::optional<KeyRefusalMessage> decode_key_refusal(ByteView frame);

}  // namespace prophecy::pbft
