#include "pbft/wire/messages.hpp"

#include "base/codec.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {

std::string_view to_string(MessageType type) {
  switch (type) {
    case MessageType::request:
      return "request";
    case MessageType::pre_prepare:
      return "pre-prepare";
    case MessageType::prepare:
      return "prepare";
    case MessageType::commit:
      return "commit";
    case MessageType::reply:
      return "reply";
    case MessageType::checkpoint:
      return "checkpoint";
    case MessageType::status:
      return "status";
    case MessageType::forward:
      return "forward";
    case MessageType::hello:
      return "hello";
    case MessageType::view_change:
      return "view-change";
    case MessageType::new_view:
      return "new-view";
    case MessageType::decision:
      return "decision";
    case MessageType::fetch_parts:
      return "fetch-parts";
    case MessageType::part:
      return "part";
    case MessageType::rejoin:
      return "rejoin";
    case MessageType::pledge:
      return "pledge";
    case MessageType::key_ask:
      return "key-ask";
    case MessageType::key_tell:
      return "key-tell";
    case MessageType::key_refusal:
      return "key-refusal";
    case MessageType::sealed:
      return "sealed";
    case MessageType::uncertain:
      return "uncertain";
    case MessageType::present:
      return "present";
  }
  return "unknown";
}

std::optional<FrameHeader> peek_header(ByteView frame) {
  Reader reader(frame);
  const auto type = reader.integer<std::uint8_t>();
  const auto version = reader.integer<std::uint8_t>();
  FrameHeader header;
  header.sender = reader.integer<std::uint32_t>();
  if (reader.failed() || version != kWireVersion) return std::nullopt;
  if (type < static_cast<std::uint8_t>(MessageType::request) ||
      type > static_cast<std::uint8_t>(MessageType::present)) {
    return std::nullopt;
  }
  header.type = static_cast<MessageType>(type);
  if (header.type == MessageType::request || header.type == MessageType::hello) {
    header.session = reader.integer<std::uint32_t>();
    header.session_count = header.type == MessageType::hello ? reader.integer<std::uint32_t>() : 1;
    if (reader.failed() || header.session_count == 0 || header.session >= kSessionsMax ||
        header.session_count > kSessionsMax - header.session) {
      return std::nullopt;
    }
  }
  return header;
}

Digest content_digest(const PrePrepareMessage& message, const Digest& batch) {
  Sha256 hash;
  hash.update(message.head);
  hash.update(batch);
  return hash.finish();
}

Digest batch_digest(const PrePrepareMessage& message) {
  Sha256 chain;
  for (const RequestMessage& request : message.requests)
    chain.update(sha256(request.content));
  append_to_batch(chain, message.input);
  return chain.finish();
}

}  // namespace prophecy::pbft
