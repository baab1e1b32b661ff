#include "script.hpp"

#include <algorithm>
#include <array>

#include "open_keys.hpp"
#include "pbft/core/state/new_view_choice.hpp"
#include "pbft/wire/body.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/limits.hpp"
#include "pbft/wire/recovery.hpp"
#include "pbft/wire/sealed.hpp"
#include "pbft/wire/view_change.hpp"

namespace prophecy::pbft::fuzz {
namespace {

constexpr std::uint32_t kViews = 4;
constexpr std::uint32_t kSequences = 24;
constexpr std::size_t kKnownMax = 64;

}  // namespace

std::uint64_t Script::number() {
  const std::uint8_t choice = byte();
  if (choice < 240) return choice % kSequences;
  return choice < 250 ? kSequenceMax - choice % 3 : reader_.integer<std::uint64_t>();
}

std::uint64_t Script::sequence() {
  return std::min(number(), kSequenceMax);
}

ByteView Script::bytes(std::size_t size_max) {
  return reader_.raw(std::min(size_max, reader_.remaining()));
}

void Script::remember(const Digest& digest) {
  known_.push_back(digest);
  if (known_.size() > kKnownMax) known_.erase(known_.begin());
}

Digest Script::digest() {
  const std::uint8_t choice = byte();
  if (choice < 128) return known_.back();
  if (choice < 240) return known_[choice % known_.size()];
  if (choice < 244) return empty_batch();
  return Digest{choice};
}

Frame Script::request() {
  const auto session = static_cast<std::uint32_t>(below(4));
  const std::uint64_t timestamp = byte();
  const std::uint8_t flags = byte();
  const NodeId replier = (flags >> 1) % kReplicas;
  const KeyRing& keys = open_ring(kFirstClientId);
  if (flags >= 192) {
    const BodyName name{1 + below(40), digest()};
    return finish_request(begin_request(name, kReplicas), session, timestamp, false, replier, keys);
  }
  const ByteView operation = bytes(below(16));
  Frame frame = finish_request(begin_request(operation, kReplicas), session, timestamp,
                               (flags & 1) != 0, replier, keys);
  return flags >= 128 ? sign_request(*frame, keys) : frame;
}

PrePrepareBuilder::Finished Script::pre_prepare(NodeId primary) {
  PrePrepareBuilder builder(256);
  const std::uint64_t place = sequence();
  const std::uint64_t count = below(4);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Frame one = request();
    const auto decoded = decode_request(*one, kReplicas);
    builder.append(*one, decoded ? sha256(decoded->content) : Digest{});
  }
  const AgreedInput input{byte() * std::uint64_t{100'000'000}, {}};
  auto finished = builder.finish(below(kViews), place, input, open_ring(primary));
  remember(finished.batch);
  return finished;
}

Frame Script::status(const KeyRing& keys) {
  StatusMessage status;
  status.view = below(kViews);
  status.counter = number();
  status.changing_view = below(2) == 1;
  status.silent_until = number();
  status.first_retained = number();
  status.last_ordered = number();
  status.last_stable = number();
  status.settled = number();
  status.slots = bytes(below(32));
  return encode_status(status, keys);
}

Frame Script::checkpoint(NodeId from, std::uint64_t place) {
  const Digest order = digest();
  const Digest replies = digest();
  return encode_checkpoint(place, order, replies, digest(), open_ring(from));
}

Frame Script::view_change(NodeId from) {
  ViewChangeMessage message;
  message.incarnation = below(3);
  message.view = 1 + below(kViews);
  std::vector<Frame> certificate;
  if (below(2) == 1) {
    message.stable = sequence();
    for (NodeId signer = 0; signer < kReplicas - 1; ++signer)
      certificate.push_back(checkpoint(signer, message.stable));
    for (const Frame& claim : certificate)
      message.certificate.emplace_back(*claim);
  }
  for (auto* records : {&message.prepared, &message.pre_prepared}) {
    const std::uint64_t count = below(5);
    for (std::uint64_t i = 1; i <= count; ++i)
      records->push_back({message.stable + i, below(kViews), digest()});
  }
  return encode_view_change(message, open_ring(from));
}

Frame Script::new_view(NodeId subject) {
  const std::uint64_t view = 1 + below(kViews);
  std::vector<Frame> frames;
  for (NodeId from = 0; from < kReplicas; ++from) {
    if (from != subject) frames.push_back(view_change(from));
  }
  std::vector<ByteView> views;
  for (const Frame& one : frames)
    views.emplace_back(*one);
  return encode_new_view(view, views, open_ring(static_cast<NodeId>(view % kReplicas)));
}

Bytes Script::part() {
  std::vector<Digest> children(below(4));
  for (Digest& child : children)
    child = digest();
  Bytes bytes_of_part = encode_part(children, bytes(below(64)));
  remember(sha256(bytes_of_part));
  return bytes_of_part;
}

Frame Script::pledge(NodeId subject, const KeyRing& keys) {
  PledgeMessage message;
  message.to = below(8) == 7 ? static_cast<NodeId>(byte()) : subject;
  message.incarnation = below(3);
  message.fresh = below(2) == 1;
  message.view = below(kViews);
  message.checkpoint = sequence();
  return encode_pledge(message, keys);
}

Frame Script::fetch_parts(const KeyRing& keys) {
  const std::uint64_t place = number();
  std::vector<Digest> parts(1 + below(8));
  for (Digest& wanted : parts)
    wanted = digest();
  return encode_fetch_parts(place, parts, keys);
}

Frame Script::frame(NodeId subject) {
  const Frame bare = bare_frame(subject);
  if (!needs_seal(*bare, kReplicas) || below(8) == 0) return bare;
  return encode_sealed(
      *bare, open_ring(static_cast<NodeId>((subject + 1 + below(kReplicas - 1)) % kReplicas)));
}

Frame Script::bare_frame(NodeId subject) {
  auto peer = static_cast<NodeId>(below(kReplicas));
  if (peer == subject) peer = (peer + 1) % kReplicas;
  const KeyRing& keys = open_ring(peer);
  switch (below(16)) {
    case 0:
      return request();
    case 1:
    case 2:
      return pre_prepare(peer).frame;
    case 3:
    case 4:
    case 5: {
      const auto type =
          std::array{MessageType::prepare, MessageType::commit, MessageType::decision}[below(3)];
      const std::uint64_t view = below(kViews);
      const std::uint64_t place = sequence();
      return encode_vote(type, view, place, digest(), keys);
    }
    case 6:
      return checkpoint(peer, sequence());
    case 7:
      return status(keys);
    case 8:
      return encode_forward(*request(), keys);
    case 9:
      return view_change(peer);
    case 10:
      return new_view(subject);
    case 11:
      return fetch_parts(keys);
    case 12:
      return encode_part_message(part(), keys);
    case 13:
      return encode_rejoin(number(), keys);
    case 14:
      return pledge(subject, keys);
    default: {
      const ByteView raw = bytes(byte());
      return std::make_shared<const Bytes>(raw.begin(), raw.end());
    }
  }
}

}  // namespace prophecy::pbft::fuzz
