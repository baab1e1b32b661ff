// Frames into messages. Every length and count is bounded before it is used, nothing is allocated
// in proportion to a claim, and a frame has to be used up to its last byte. What comes out is
// well formed, and says nothing about who sent it.
#pragma once

#include <optional>

#include "pbft/wire/messages.hpp"

namespace prophecy::pbft {

// `replicas` is n, the number of tags in an authenticator.
[[nodiscard]] std::optional<RequestMessage> decode_request(ByteView frame, std::uint32_t replicas);
// Only the fixed fields, for checks that come before a frame is worth a copy.
[[nodiscard]] std::optional<PrePrepareMessage> decode_pre_prepare_head(ByteView frame);
[[nodiscard]] std::optional<PrePrepareMessage> decode_pre_prepare(ByteView frame,
                                                                  std::uint32_t replicas);
[[nodiscard]] std::optional<VoteMessage> decode_vote(ByteView frame, MessageType type,
                                                     std::uint32_t replicas);
[[nodiscard]] std::optional<ReplyMessage> decode_reply(ByteView frame);
[[nodiscard]] std::optional<CheckpointMessage> decode_checkpoint(ByteView frame);
[[nodiscard]] std::optional<StatusMessage> decode_status(ByteView frame, std::uint32_t replicas);
[[nodiscard]] std::optional<ForwardMessage> decode_forward(ByteView frame);
[[nodiscard]] std::optional<HelloMessage> decode_hello(ByteView frame);

}  // namespace prophecy::pbft
