#include "pbft/wire/decode.hpp"

#include "pbft/wire/body.hpp"
#include "pbft/wire/header_codec.hpp"

namespace prophecy::pbft {
namespace {

// A sequence number that stands for a batch: they start at 1.
std::uint64_t read_sequence(Reader& reader) {
  const auto sequence = reader.integer<std::uint64_t>();
  if (sequence == 0 || sequence > kSequenceMax) reader.fail();
  return sequence;
}

// A sequence number that may be "none yet".
std::uint64_t read_progress(Reader& reader) {
  const auto sequence = reader.integer<std::uint64_t>();
  if (sequence > kSequenceMax) reader.fail();
  return sequence;
}

}  // namespace

std::optional<RequestMessage> decode_request(ByteView frame, std::uint32_t replicas) {
  Reader reader(frame);
  RequestMessage message;
  message.client = read_header(reader, MessageType::request);
  message.session = reader.integer<std::uint32_t>();
  message.timestamp = reader.integer<std::uint64_t>();
  const auto flags = reader.integer<std::uint8_t>();
  message.read_only = flags == kRequestReadOnly;
  message.replier = reader.integer<std::uint32_t>();
  message.operation = reader.sized(kInlineBytesMax);
  if ((flags & ~kRequestInEpoch) == kRequestByDigest) {
    message.body = decode_body_name(message.operation);
    if (!message.body) return std::nullopt;
  }
  if ((flags & kRequestInEpoch) != 0) {
    message.epoch = reader.integer<std::uint64_t>();
    if (message.epoch == 0 || message.epoch > kEpochMax) return std::nullopt;
  }
  const bool has_known_flags =
      flags == kRequestReadOnly || (flags & ~(kRequestByDigest | kRequestInEpoch)) == 0;
  if (!has_known_flags || message.session >= kSessionsMax || message.timestamp == 0 ||
      message.replier >= replicas || !is_client(message.client)) {
    return std::nullopt;
  }
  message.content = consumed(frame, reader);
  message.authenticator = reader.raw(replicas * kTagSize);
  if (reader.remaining() > 0) message.signature = reader.raw(kSignatureSize);
  if (!reader.complete()) return std::nullopt;
  return message;
}

std::optional<PrePrepareMessage> decode_pre_prepare_head(ByteView frame) {
  Reader reader(frame);
  PrePrepareMessage message;
  message.primary = read_header(reader, MessageType::pre_prepare);
  message.view = reader.integer<std::uint64_t>();
  message.sequence = read_sequence(reader);
  if (reader.failed()) return std::nullopt;
  return message;
}

std::optional<PrePrepareMessage> decode_pre_prepare(ByteView frame, std::uint32_t replicas) {
  if (frame.size() > kPrePrepareBytesMax) return std::nullopt;
  Reader reader(frame);
  PrePrepareMessage message;
  message.primary = read_header(reader, MessageType::pre_prepare);
  message.view = reader.integer<std::uint64_t>();
  message.sequence = read_sequence(reader);
  message.input.time = reader.integer<std::uint64_t>();
  reader.fixed(message.input.seed);
  const std::uint32_t count = reader.integer<std::uint16_t>();
  if (reader.failed() || count > kBatchRequestsMax) return std::nullopt;
  message.head = consumed(frame, reader);
  // A count is believed only as far as the bytes that are there could hold it.
  const std::size_t request_size_min = 4 + kRequestFixedSize + replicas * kTagSize;
  if (count > reader.remaining() / request_size_min) return std::nullopt;
  message.requests.reserve(count);
  std::uint64_t operations = 0;
  message.overhead = frame.size();
  for (std::uint32_t i = 0; i < count; ++i) {
    const ByteView bytes = reader.sized(kFrameBytesMax);
    const auto request = decode_request(bytes, replicas);
    if (!request) return std::nullopt;
    message.requests.push_back(*request);
    operations += operation_bytes(*request);
    if (!request->body) message.overhead -= request->operation.size();
  }
  message.authenticator = reader.raw(replicas * kTagSize);
  if (!reader.complete() || (count > 1 && operations > kBatchBytesMax)) return std::nullopt;
  return message;
}

std::optional<VoteMessage> decode_vote(ByteView frame, MessageType type, std::uint32_t replicas) {
  Reader reader(frame);
  VoteMessage message;
  message.replica = read_header(reader, type);
  message.view = reader.integer<std::uint64_t>();
  message.sequence = read_sequence(reader);
  reader.fixed(message.batch);
  message.content = consumed(frame, reader);
  message.authenticator = reader.raw(replicas * kTagSize);
  if (!reader.complete()) return std::nullopt;
  return message;
}

std::optional<ReplyMessage> decode_reply(ByteView frame) {
  Reader reader(frame);
  ReplyMessage message;
  message.replica = read_header(reader, MessageType::reply);
  message.view = reader.integer<std::uint64_t>();
  message.client = reader.integer<std::uint32_t>();
  message.session = reader.integer<std::uint32_t>();
  message.timestamp = reader.integer<std::uint64_t>();
  message.sigma = reader.integer<std::uint64_t>();
  const auto status = reader.integer<std::uint8_t>();
  const auto tentative = reader.integer<std::uint8_t>();
  reader.fixed(message.result_digest);
  message.content = consumed(frame, reader);
  message.tag = reader.raw(kTagSize);
  const auto form = reader.integer<std::uint8_t>();
  if (status > 2 || tentative > 1 || form > 1) return std::nullopt;
  message.status = static_cast<ReplyStatus>(status);
  message.tentative = tentative == 1;
  message.full = form == 1;
  if (message.full) message.result = reader.sized(kResultBytesMax);
  if (!reader.complete()) return std::nullopt;
  return message;
}

std::optional<CheckpointMessage> decode_checkpoint(ByteView frame) {
  Reader reader(frame);
  CheckpointMessage message;
  message.replica = read_header(reader, MessageType::checkpoint);
  message.incarnation = reader.integer<std::uint64_t>();
  message.sequence = read_sequence(reader);
  reader.fixed(message.order);
  reader.fixed(message.replies);
  reader.fixed(message.service);
  message.content = consumed(frame, reader);
  message.signature = reader.raw(kSignatureSize);
  if (!reader.complete()) return std::nullopt;
  return message;
}

std::optional<StatusMessage> decode_status(ByteView frame, std::uint32_t replicas) {
  Reader reader(frame);
  StatusMessage message;
  message.replica = read_header(reader, MessageType::status);
  message.view = reader.integer<std::uint64_t>();
  message.counter = reader.integer<std::uint64_t>();
  const auto flags = reader.integer<std::uint8_t>();
  if (flags > 1) return std::nullopt;
  message.changing_view = flags == 1;
  message.silent_until = read_progress(reader);
  message.first_retained = read_sequence(reader);
  message.last_ordered = read_progress(reader);
  message.last_stable = read_progress(reader);
  message.settled = read_progress(reader);
  const std::uint32_t count = reader.integer<std::uint16_t>();
  if (message.settled > message.last_ordered) return std::nullopt;
  if (count > kStatusSlotsMax) return std::nullopt;
  message.slots = reader.raw(count);
  message.content = consumed(frame, reader);
  message.authenticator = reader.raw(replicas * kTagSize);
  if (!reader.complete()) return std::nullopt;
  return message;
}

std::optional<ForwardMessage> decode_forward(ByteView frame) {
  Reader reader(frame);
  ForwardMessage message;
  message.replica = read_header(reader, MessageType::forward);
  message.request = reader.sized(kFrameBytesMax);
  if (!reader.complete()) return std::nullopt;
  return message;
}

std::optional<HelloMessage> decode_hello(ByteView frame) {
  if (!peek_header(frame)) return std::nullopt;  // bounds of the sessions
  Reader reader(frame);
  HelloMessage message;
  message.client = read_header(reader, MessageType::hello);
  message.first_session = reader.integer<std::uint32_t>();
  reader.integer<std::uint32_t>();  // how many
  message.content = consumed(frame, reader);
  message.tag = reader.raw(kTagSize);
  if (!reader.complete() || !is_client(message.client)) return std::nullopt;
  return message;
}

}  // namespace prophecy::pbft
