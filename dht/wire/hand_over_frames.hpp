// `HandOverAsk` and `HandOverPage` (dht/core/hand_over.hpp), and members' reports, as frames
// between two members: a 32-bit length, a type, and fields in little-endian order.
//
//   ask:  1, view 8, gained 8, partition 2, token 8, phase 1, cursor 8, done 1
//   page: 2, status 1, partition 2, token 8, phase 1, cursor 8, next 8,
//         floors 2, {slot 4, floor 8, bits 1}*, entries 2, {tag 10, answer 20, number 8, limited
//         1}*
//   report's ask:  3, token 8, kind 1, offset 4
//   report's part: 4, status 1, token 8, offset 4, total 4, bytes (length 4)
//
// There is one spelling of each message: decoding accepts what encoding writes, byte for byte. A
// frame is bounded, whatever a peer says. Pure functions, and a reader of one connection's bytes.
#pragma once

#include <deque>
#include <optional>
#include <variant>

#include "base/bytes.hpp"
#include "dht/core/hand_over.hpp"
#include "dht/wire/member_reports.hpp"

namespace prophecy::dht {

constexpr std::size_t kHandedFloorsMax = 1024;   // in a page
constexpr std::size_t kHandedEntriesMax = 1024;  // likewise
constexpr std::size_t kHandOverFrameMax = 64 << 10;

using HandOverMessage = std::variant<HandOverAsk, HandOverPage, ReportAsk, ReportPart>;

// With its length. Requires a partition that there is, a page within the limits above, and a part
// as ReportPart has it.
[[nodiscard]] Bytes encode_frame(const HandOverAsk& ask);
[[nodiscard]] Bytes encode_frame(const HandOverPage& page);
[[nodiscard]] Bytes encode_frame(const ReportAsk& ask);
[[nodiscard]] Bytes encode_frame(const ReportPart& part);

// Without its length. Nothing: it is none.
[[nodiscard]] std::optional<HandOverMessage> decode_frame(ByteView frame);

// Cuts the bytes of a connection into messages.
class HandOverReader {
 public:
  // False: the peer does not speak this protocol; nothing may be called any more.
  [[nodiscard]] bool feed(ByteView bytes);
  [[nodiscard]] std::optional<HandOverMessage> take();

 private:
  [[nodiscard]] bool read_frame();

  Bytes held_;
  std::deque<HandOverMessage> messages_;
};

}  // namespace prophecy::dht
