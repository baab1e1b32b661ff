#include "pbft/wire/key_messages.hpp"

#include <memory>
#include <utility>

#include "pbft/wire/header_codec.hpp"

namespace prophecy::pbft {
namespace {

Frame encode_nonce(MessageType type, NodeId to, const Nonce& nonce, const KeyRing& keys) {
  Bytes bytes;
  Writer writer(bytes);
  write_header(writer, type, keys.self());
  writer.integer(to);
  writer.raw(nonce);
  return share(std::move(bytes));
}

template <class Message>
std::optional<Message> decode_nonce(ByteView frame, MessageType type) {
  Reader reader(frame);
  Message message;
  message.from = read_header(reader, type);
  message.to = reader.integer<std::uint32_t>();
  reader.fixed(message.nonce);
  if (!reader.complete()) return std::nullopt;
  return message;
}

bool is_within_bounds(const KeyTellMessage& message) {
  const SessionRange& sessions = message.announcement.sessions;
  if (!is_client(message.from)) return sessions == SessionRange{};
  return sessions.count >= 1 && sessions.count <= kSessionsMax &&
         sessions.first <= kSessionsMax - sessions.count;
}

}  // namespace

Frame encode_key_ask(NodeId to, const Nonce& nonce, const KeyRing& keys) {
  return encode_nonce(MessageType::key_ask, to, nonce, keys);
}

Frame encode_key_refusal(NodeId to, const Nonce& nonce, const KeyRing& keys) {
  return encode_nonce(MessageType::key_refusal, to, nonce, keys);
}

Frame encode_key_tell(const KeyTellMessage& message, const KeyRing& keys) {
  Bytes bytes;
  Writer writer(bytes);
  write_header(writer, MessageType::key_tell, keys.self());
  writer.integer(message.to);
  writer.raw(message.answered);
  writer.raw(message.asked);
  writer.integer(message.announcement.epoch.incarnation);
  writer.integer(message.announcement.epoch.number);
  writer.integer(message.announcement.sessions.first);
  writer.integer(message.announcement.sessions.count);
  writer.raw(message.announcement.key.bytes);
  writer.integer(message.refresh_milliseconds);
  writer.raw(keys.sign(sha256(bytes)));
  return share(std::move(bytes));
}

std::optional<KeyAskMessage> decode_key_ask(ByteView frame) {
  return decode_nonce<KeyAskMessage>(frame, MessageType::key_ask);
}

std::optional<KeyRefusalMessage> decode_key_refusal(ByteView frame) {
  return decode_nonce<KeyRefusalMessage>(frame, MessageType::key_refusal);
}

std::optional<KeyTellMessage> decode_key_tell(ByteView frame) {
  Reader reader(frame);
  KeyTellMessage message;
  message.from = read_header(reader, MessageType::key_tell);
  message.to = reader.integer<std::uint32_t>();
  reader.fixed(message.answered);
  reader.fixed(message.asked);
  message.announcement.epoch.incarnation = reader.integer<std::uint64_t>();
  message.announcement.epoch.number = reader.integer<std::uint32_t>();
  message.announcement.sessions.first = reader.integer<std::uint32_t>();
  message.announcement.sessions.count = reader.integer<std::uint32_t>();
  reader.fixed(message.announcement.key.bytes);
  message.refresh_milliseconds = reader.integer<std::uint32_t>();
  message.content = consumed(frame, reader);
  message.signature = reader.raw(kSignatureSize);
  if (!reader.complete() || !is_within_bounds(message)) return std::nullopt;
  return message;
}

}  // namespace prophecy::pbft
