// The first bytes of every frame, for shells: what kind of message it is, and from whom it says
// it comes. Only Replica::on_frame can tell whether that is true.
//
//   frame  := type:u8 version:u8 sender:u32 ...      (little endian)
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.hpp"
#include "base/ids.hpp"

namespace prophecy::pbft {

enum class MessageType : std::uint8_t {
  request = 1,
  pre_prepare = 2,
  prepare = 3,
  commit = 4,
  reply = 5,
  checkpoint = 6,
  status = 7,
  forward = 8,  // a request that a backup hands to the primary
  hello = 9,    // a client has connected: which sessions are reached over this connection
  view_change = 10,
  new_view = 11,
  decision = 12,     // for a replica that is behind: what is committed at a number
  fetch_parts = 13,  // of a checkpoint's state
  part = 14,
  rejoin = 15,   // a replica that has lost its memory wants to be believed again
  pledge = 16,   // the answer to it
  key_ask = 17,  // of the exchange of session keys, which is no business of a replica's core
  key_tell = 18,
  key_refusal = 19,
  sealed = 20,     // another message under MACs of the replica that sends it (pbft/wire/sealed.hpp)
  uncertain = 21,  // a write without a usable answer, and the state that it has left
  present = 22,    // the present state of a service, which an operator may have adopted
};
[[nodiscard]] std::string_view to_string(MessageType type);
// Of the exchange of session keys.
[[nodiscard]] constexpr bool is_key_message(MessageType type) {
  return type == MessageType::key_ask || type == MessageType::key_tell ||
         type == MessageType::key_refusal;
}

// Proven by a signature, or by what lies in it, to whoever gets it.
[[nodiscard]] constexpr bool is_signed(MessageType type) {
  return type == MessageType::checkpoint || type == MessageType::view_change ||
         type == MessageType::new_view || type == MessageType::rejoin ||
         type == MessageType::part || type == MessageType::forward;
}

struct FrameHeader {
  MessageType type = MessageType::request;
  NodeId sender = 0;
  // Of a request, one; of a hello, a range; 0 and none for every other message.
  std::uint32_t session = 0;
  std::uint32_t session_count = 0;
};

// Nothing when the frame is too short, of another version or of an unknown type, or names a
// session out of bounds.
[[nodiscard]] std::optional<FrameHeader> peek_header(ByteView frame);

}  // namespace prophecy::pbft
