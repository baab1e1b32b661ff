#include "pbft/wire/recovery.hpp"

#include <memory>
#include <utility>

#include "base/assert.hpp"
#include "pbft/wire/header_codec.hpp"
#include "pbft/wire/part.hpp"

namespace prophecy::pbft {
namespace {

Bytes fetch_parts_content(std::uint64_t sequence, std::span<const Digest> parts,
                          const KeyRing& keys) {
  ASSERT(!parts.empty() && parts.size() <= kPartsAskedMax);
  Bytes bytes;
  Writer writer(bytes);
  write_header(writer, MessageType::fetch_parts, keys.self());
  writer.integer(sequence);
  writer.integer(static_cast<std::uint16_t>(parts.size()));
  for (const Digest& part : parts)
    writer.raw(part);
  return bytes;
}

std::optional<FetchPartsMessage> decode_fetch_parts_with(ByteView frame, std::size_t tags) {
  Reader reader(frame);
  FetchPartsMessage message;
  message.replica = read_header(reader, MessageType::fetch_parts);
  message.sequence = reader.integer<std::uint64_t>();
  const std::size_t count = reader.integer<std::uint16_t>();
  if (count == 0 || count > kPartsAskedMax || reader.remaining() < count * sizeof(Digest)) {
    return std::nullopt;
  }
  message.parts.resize(count);
  for (Digest& part : message.parts)
    reader.fixed(part);
  message.content = consumed(frame, reader);
  message.authenticator = reader.raw(tags * kTagSize);
  if (!reader.complete()) return std::nullopt;
  return message;
}

}  // namespace

Frame encode_fetch_parts(std::uint64_t sequence, std::span<const Digest> parts,
                         const KeyRing& keys) {
  return authenticate(fetch_parts_content(sequence, parts, keys), keys);
}

Frame encode_fetch_parts_of(NodeId client, std::uint32_t session, std::span<const Digest> parts,
                            const KeyRing& keys) {
  Bytes bytes = fetch_parts_content(0, parts, keys);
  Writer(bytes).raw(keys.tag(client, sha256(bytes), session));
  return share(std::move(bytes));
}

Frame encode_part_message(ByteView part, const KeyRing& keys) {
  Bytes bytes;
  bytes.reserve(kHeaderSize + 4 + part.size());
  Writer writer(bytes);
  write_header(writer, MessageType::part, keys.self());
  writer.sized(part);
  return share(std::move(bytes));
}

Frame encode_rejoin(std::uint64_t incarnation, const KeyRing& keys) {
  Bytes bytes;
  Writer writer(bytes);
  write_header(writer, MessageType::rejoin, keys.self());
  writer.integer(incarnation);
  return sign(std::move(bytes), keys);
}

Frame encode_pledge(const PledgeMessage& message, const KeyRing& keys) {
  Bytes bytes;
  Writer writer(bytes);
  write_header(writer, MessageType::pledge, keys.self());
  writer.integer(message.to);
  writer.integer(message.incarnation);
  writer.integer(static_cast<std::uint8_t>(message.fresh ? 1 : 0));
  writer.integer(message.view);
  writer.integer(message.checkpoint);
  return authenticate(std::move(bytes), keys);
}

Frame encode_uncertain(const UncertainWrite& write, const UncertainFlags& flags,
                       const KeyRing& keys) {
  Bytes bytes;
  Writer writer(bytes);
  write_header(writer, MessageType::uncertain, keys.self());
  writer.integer(write.sigma);
  writer.raw(write.batch);
  writer.raw(write.state);
  writer.integer(
      static_cast<std::uint8_t>((flags.asks ? 1 : 0) | (flags.wants_checkpoint ? 2 : 0)));
  return authenticate(std::move(bytes), keys);
}

Frame encode_present(const PresentState& present, const KeyRing& keys) {
  Bytes bytes;
  Writer writer(bytes);
  write_header(writer, MessageType::present, keys.self());
  writer.integer(present.reach);
  writer.raw(present.state);
  writer.integer(static_cast<std::uint8_t>((present.asks ? 1 : 0) | (present.has_state ? 2 : 0) |
                                           (present.agrees ? 4 : 0)));
  return authenticate(std::move(bytes), keys);
}

std::optional<FetchPartsMessage> decode_fetch_parts(ByteView frame, std::uint32_t replicas) {
  return decode_fetch_parts_with(frame, replicas);
}

std::optional<FetchPartsMessage> decode_fetch_parts(ByteView frame) {
  return decode_fetch_parts_with(frame, 1);
}

std::optional<PartMessage> decode_part_message(ByteView frame) {
  Reader reader(frame);
  PartMessage message;
  message.replica = read_header(reader, MessageType::part);
  message.part = reader.sized(kPartBytesMax);
  if (!reader.complete()) return std::nullopt;
  return message;
}

std::optional<RejoinMessage> decode_rejoin(ByteView frame) {
  Reader reader(frame);
  RejoinMessage message;
  message.replica = read_header(reader, MessageType::rejoin);
  message.incarnation = reader.integer<std::uint64_t>();
  message.content = consumed(frame, reader);
  message.signature = reader.raw(kSignatureSize);
  if (!reader.complete()) return std::nullopt;
  return message;
}

std::optional<PledgeMessage> decode_pledge(ByteView frame, std::uint32_t replicas) {
  Reader reader(frame);
  PledgeMessage message;
  message.replica = read_header(reader, MessageType::pledge);
  message.to = reader.integer<std::uint32_t>();
  message.incarnation = reader.integer<std::uint64_t>();
  const auto fresh = reader.integer<std::uint8_t>();
  message.fresh = fresh == 1;
  message.view = reader.integer<std::uint64_t>();
  message.checkpoint = reader.integer<std::uint64_t>();
  message.content = consumed(frame, reader);
  message.authenticator = reader.raw(replicas * kTagSize);
  if (!reader.complete() || fresh > 1 || message.checkpoint > kSequenceMax ||
      message.view > kViewMax)
    return std::nullopt;
  return message;
}

std::optional<UncertainMessage> decode_uncertain(ByteView frame, std::uint32_t replicas) {
  Reader reader(frame);
  UncertainMessage message;
  message.replica = read_header(reader, MessageType::uncertain);
  message.write.sigma = reader.integer<std::uint64_t>();
  reader.fixed(message.write.batch);
  reader.fixed(message.write.state);
  const auto flags = reader.integer<std::uint8_t>();
  message.asks = (flags & 1) != 0;
  message.wants_checkpoint = (flags & 2) != 0;
  message.content = consumed(frame, reader);
  message.authenticator = reader.raw(replicas * kTagSize);
  if (!reader.complete() || flags > 3 || message.write.sigma >> 16 > kSequenceMax) {
    return std::nullopt;
  }
  return message;
}

std::optional<PresentMessage> decode_present(ByteView frame, std::uint32_t replicas) {
  Reader reader(frame);
  PresentMessage message;
  message.replica = read_header(reader, MessageType::present);
  message.present.reach = reader.integer<std::uint64_t>();
  reader.fixed(message.present.state);
  const auto flags = reader.integer<std::uint8_t>();
  message.present.asks = (flags & 1) != 0;
  message.present.has_state = (flags & 2) != 0;
  message.present.agrees = (flags & 4) != 0;
  message.content = consumed(frame, reader);
  message.authenticator = reader.raw(replicas * kTagSize);
  if (!reader.complete() || flags > 7 || message.present.reach > kSequenceMax) return std::nullopt;
  return message;
}

}  // namespace prophecy::pbft
