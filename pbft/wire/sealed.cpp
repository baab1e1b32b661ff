#include "pbft/wire/sealed.hpp"

#include "pbft/wire/header_codec.hpp"

namespace prophecy::pbft {

bool needs_seal(ByteView frame, NodeId self) {
  const auto header = peek_header(frame);
  if (!header) return false;
  return is_only_sealed(header->type) ||
         (header->type == MessageType::pre_prepare && header->sender != self);
}

Frame encode_sealed(ByteView frame, const KeyRing& keys) {
  Bytes bytes;
  bytes.reserve(kHeaderSize + 4 + frame.size() + keys.replicas() * kTagSize);
  Writer writer(bytes);
  write_header(writer, MessageType::sealed, keys.self());
  writer.sized(frame);
  return authenticate(std::move(bytes), keys);
}

std::optional<SealedMessage> decode_sealed(ByteView frame, std::uint32_t replicas) {
  Reader reader(frame);
  SealedMessage message;
  message.replica = read_header(reader, MessageType::sealed);
  message.frame = reader.sized(kFrameBytesMax);
  message.content = consumed(frame, reader);
  message.authenticator = reader.raw(replicas * kTagSize);
  if (!reader.complete()) return std::nullopt;
  return message;
}

}  // namespace prophecy::pbft
