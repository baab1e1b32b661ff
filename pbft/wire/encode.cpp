#include "pbft/wire/encode.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/assert.hpp"
#include "pbft/wire/authenticated.hpp"
#include "pbft/wire/body.hpp"
#include "pbft/wire/header_codec.hpp"

namespace prophecy::pbft {
namespace {

template <std::unsigned_integral T>
void overwrite(Bytes& bytes, std::size_t at, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bytes[at + i] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * i));
  }
}

// Where the fields of a request stand behind the frame header.
constexpr std::size_t kSessionAt = kHeaderSize;
constexpr std::size_t kTimestampAt = kSessionAt + 4;
constexpr std::size_t kFlagsAt = kTimestampAt + 8;
constexpr std::size_t kReplierAt = kFlagsAt + 1;
static_assert(kReplierAt + 4 + 4 == kRequestFixedSize);

// And those of a pre-prepare.
constexpr std::size_t kViewAt = kHeaderSize;
constexpr std::size_t kSequenceAt = kViewAt + 8;
constexpr std::size_t kTimeAt = kSequenceAt + 8;
constexpr std::size_t kSeedAt = kTimeAt + 8;
constexpr std::size_t kCountAt = kSeedAt + std::tuple_size_v<Seed>;
constexpr std::size_t kPrePrepareHeadSize = kCountAt + 2;

}  // namespace

Bytes begin_request(ByteView operation, std::uint32_t replicas, std::uint64_t epoch) {
  ASSERT(operation.size() <= kInlineBytesMax && epoch <= kEpochMax);
  Bytes bytes;
  bytes.reserve(kRequestFixedSize + operation.size() + sizeof epoch + replicas * kTagSize);
  bytes.resize(kReplierAt + 4);
  Writer writer(bytes);
  writer.sized(operation);
  if (epoch == 0) return bytes;
  writer.integer(epoch);
  bytes[kFlagsAt] = kRequestInEpoch;
  return bytes;
}

Bytes begin_request(const BodyName& body, std::uint32_t replicas, std::uint64_t epoch) {
  Bytes bytes = begin_request(encode_body_name(body), replicas, epoch);
  bytes[kFlagsAt] |= kRequestByDigest;
  return bytes;
}

Frame finish_request(Bytes begun, std::uint32_t session, std::uint64_t timestamp, bool read_only,
                     NodeId replier, const KeyRing& keys) {
  begun[0] = static_cast<std::uint8_t>(MessageType::request);
  begun[1] = kWireVersion;
  overwrite(begun, 2, keys.self());
  overwrite(begun, kSessionAt, session);
  overwrite(begun, kTimestampAt, timestamp);
  ASSERT(!read_only || begun[kFlagsAt] == 0);
  if (read_only) begun[kFlagsAt] = kRequestReadOnly;
  overwrite(begun, kReplierAt, replier);
  return authenticate(std::move(begun), keys);
}

Frame sign_request(ByteView request_frame, const KeyRing& keys) {
  const std::size_t tail = keys.replicas() * kTagSize;
  ASSERT(request_frame.size() > tail);
  RequestMessage request;
  request.content = request_frame.first(request_frame.size() - tail);
  const Signature signature = keys.sign(sha256(request.content));
  request.signature = signature;
  return renew_request(request, keys);
}

Frame renew_request(const RequestMessage& request, const KeyRing& keys) {
  Bytes bytes;
  bytes.reserve(request.content.size() + keys.replicas() * kTagSize + kSignatureSize);
  Writer writer(bytes);
  writer.raw(request.content);
  keys.append_authenticator(authenticated_digest(request, sha256(request.content)), bytes);
  writer.raw(request.signature);
  return share(std::move(bytes));
}

Frame renew_vote(ByteView vote_frame, const KeyRing& keys) {
  const std::size_t tail = keys.replicas() * kTagSize;
  ASSERT(vote_frame.size() > tail);
  const ByteView content = vote_frame.first(vote_frame.size() - tail);
  return authenticate(Bytes(content.begin(), content.end()), keys);
}

Frame renew_pre_prepare(ByteView frame, const Digest& batch, const KeyRing& keys) {
  const std::size_t tail = keys.replicas() * kTagSize;
  ASSERT(frame.size() >= kPrePrepareHeadSize + tail);
  PrePrepareMessage message;
  message.head = frame.first(kPrePrepareHeadSize);
  Bytes bytes;
  bytes.reserve(frame.size());
  Writer(bytes).raw(frame.first(frame.size() - tail));
  keys.append_authenticator(content_digest(message, batch), bytes);
  return share(std::move(bytes));
}

PrePrepareBuilder::PrePrepareBuilder(std::size_t size_hint) {
  bytes_.reserve(kPrePrepareHeadSize + size_hint);
  bytes_.resize(kPrePrepareHeadSize);
}

std::size_t PrePrepareBuilder::append(ByteView request_frame, const Digest& request_digest) {
  Writer(bytes_).integer(static_cast<std::uint32_t>(request_frame.size()));
  const std::size_t start = bytes_.size();
  bytes_.insert(bytes_.end(), request_frame.begin(), request_frame.end());
  batch_.update(request_digest);
  ++count_;
  return start;
}

PrePrepareBuilder::Finished PrePrepareBuilder::finish(std::uint64_t view, std::uint64_t sequence,
                                                      const AgreedInput& input,
                                                      const KeyRing& keys) {
  ASSERT(count_ <= kBatchRequestsMax && sequence <= kSequenceMax);
  bytes_[0] = static_cast<std::uint8_t>(MessageType::pre_prepare);
  bytes_[1] = kWireVersion;
  overwrite(bytes_, 2, keys.self());
  overwrite(bytes_, kViewAt, view);
  overwrite(bytes_, kSequenceAt, sequence);
  overwrite(bytes_, kTimeAt, input.time);
  std::copy(input.seed.begin(), input.seed.end(), bytes_.begin() + kSeedAt);
  overwrite(bytes_, kCountAt, static_cast<std::uint16_t>(count_));
  append_to_batch(batch_, input);
  const Digest batch = batch_.finish();
  PrePrepareMessage message;
  message.head = ByteView(bytes_).first(kPrePrepareHeadSize);
  keys.append_authenticator(content_digest(message, batch), bytes_);
  return {share(std::move(bytes_)), batch};
}

Frame encode_vote(MessageType type, std::uint64_t view, std::uint64_t sequence, const Digest& batch,
                  const KeyRing& keys) {
  Bytes bytes;
  bytes.reserve(kHeaderSize + 16 + batch.size() + keys.replicas() * kTagSize);
  Writer writer(bytes);
  write_header(writer, type, keys.self());
  writer.integer(view);
  writer.integer(sequence);
  writer.raw(batch);
  return authenticate(std::move(bytes), keys);
}

Frame encode_reply(const ReplyMessage& reply, const KeyRing& keys) {
  Bytes bytes;
  bytes.reserve(kHeaderSize + 34 + 32 + kTagSize + 5 + (reply.full ? reply.result.size() : 0));
  Writer writer(bytes);
  write_header(writer, MessageType::reply, keys.self());
  writer.integer(reply.view);
  writer.integer(reply.client);
  writer.integer(reply.session);
  writer.integer(reply.timestamp);
  writer.integer(reply.sigma);
  writer.integer(static_cast<std::uint8_t>(reply.status));
  writer.integer(static_cast<std::uint8_t>(reply.tentative ? 1 : 0));
  writer.raw(reply.result_digest);
  writer.raw(keys.tag(reply.client, sha256(bytes), reply.session));
  writer.integer(static_cast<std::uint8_t>(reply.full ? 1 : 0));
  if (reply.full) writer.sized(reply.result);
  return share(std::move(bytes));
}

Frame encode_checkpoint(std::uint64_t sequence, const Digest& order, const Digest& replies,
                        const Digest& service, const KeyRing& keys, std::uint64_t incarnation) {
  Bytes bytes;
  Writer writer(bytes);
  write_header(writer, MessageType::checkpoint, keys.self());
  writer.integer(incarnation);
  writer.integer(sequence);
  writer.raw(order);
  writer.raw(replies);
  writer.raw(service);
  return sign(std::move(bytes), keys);
}

Frame encode_status(const StatusMessage& status, const KeyRing& keys) {
  ASSERT(status.slots.size() <= kStatusSlotsMax);
  Bytes bytes;
  Writer writer(bytes);
  write_header(writer, MessageType::status, keys.self());
  writer.integer(status.view);
  writer.integer(status.counter);
  writer.integer(static_cast<std::uint8_t>(status.changing_view ? 1 : 0));
  writer.integer(status.silent_until);
  writer.integer(status.first_retained);
  writer.integer(status.last_ordered);
  writer.integer(status.last_stable);
  writer.integer(status.settled);
  writer.integer(static_cast<std::uint16_t>(status.slots.size()));
  writer.raw(status.slots);
  return authenticate(std::move(bytes), keys);
}

Frame encode_forward(ByteView request_frame, const KeyRing& keys) {
  Bytes bytes;
  Writer writer(bytes);
  write_header(writer, MessageType::forward, keys.self());
  writer.sized(request_frame);
  return share(std::move(bytes));
}

Frame encode_hello(std::uint32_t first_session, std::uint32_t session_count, NodeId to,
                   const KeyRing& keys) {
  Bytes bytes;
  Writer writer(bytes);
  write_header(writer, MessageType::hello, keys.self());
  writer.integer(first_session);
  writer.integer(session_count);
  writer.raw(keys.tag(to, sha256(bytes)));
  return share(std::move(bytes));
}

}  // namespace prophecy::pbft
