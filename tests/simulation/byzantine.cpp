#include "simulation/byzantine.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"

namespace prophecy::simulation {
namespace {

pbft::Digest digest_of(std::uint64_t number) {
  pbft::Digest digest{};
  for (std::size_t i = 0; i < 8; ++i)
    digest[i] = static_cast<std::uint8_t>(number >> (8 * i));
  return digest;
}

}  // namespace

ByzantineSender::ByzantineSender(const pbft::KeyRing& keys, Random& random,
                                 bool equivocates_as_primary)
    : keys_(keys), random_(random), equivocates_as_primary_(equivocates_as_primary) {}

std::vector<pbft::Outgoing> ByzantineSender::corrupt(const pbft::Outgoing& honest) {
  if (equivocates_as_primary_) {
    // Two worlds: what the backups with odd ids get to see is not what the others do.
    const bool other_half = honest.to < keys_.replicas() && honest.to % 2 == 1;
    return {{honest.to, honest.session, other_half ? other_world(honest.frame) : honest.frame}};
  }
  std::vector<pbft::Outgoing> sends;
  sent_.push_back(honest.frame);
  if (sent_.size() > 50) sent_.pop_front();
  switch (random_.below(6)) {
    case 0:
      break;  // silence
    case 1:
      sends.push_back({honest.to, honest.session, lie(honest)});
      break;
    case 2:
      sends.push_back({honest.to, honest.session, lie(honest)});
      sends.push_back(honest);
      break;
    case 3:
      sends.push_back({honest.to, honest.session, garbage(*honest.frame)});
      break;
    case 4:
      sends.push_back({honest.to, honest.session, sent_[random_.below(sent_.size())]});
      [[fallthrough]];
    default:
      sends.push_back(honest);
      break;
  }
  return sends;
}

pbft::Frame ByzantineSender::lie(const pbft::Outgoing& honest) {
  const ByteView frame = *honest.frame;
  const std::uint32_t n = keys_.replicas();
  const pbft::Digest other = digest_of(random_.below(3));
  for (const auto type :
       {pbft::MessageType::prepare, pbft::MessageType::commit, pbft::MessageType::decision}) {
    if (const auto vote = pbft::decode_vote(frame, type, n)) {
      const bool about_another = random_.chance(30);
      return pbft::encode_vote(random_.chance(20) ? pbft::MessageType::commit : type,
                               vote->view + random_.below(2),
                               vote->sequence + (about_another ? random_.below(5) : 0),
                               random_.chance(50) ? other : vote->batch, keys_);
    }
  }
  if (const auto claim = pbft::decode_checkpoint(frame)) {
    return pbft::encode_checkpoint(claim->sequence + random_.below(3), other, other, keys_);
  }
  if (auto status = pbft::decode_status(frame, n)) {
    std::vector<std::uint8_t> slots(random_.below(20), static_cast<std::uint8_t>(7));
    status->last_ordered = random_.below(1000);
    status->first_retained = 1 + random_.below(1000);
    status->slots = slots;
    return pbft::encode_status(*status, keys_);
  }
  if (auto message = pbft::decode_view_change(frame, n)) return wrong_view_change(*message);
  if (const auto message = pbft::decode_new_view(frame, n)) return wrong_new_view(*message);
  if (pbft::decode_reply(frame)) return wrong_reply(frame);
  return garbage(frame);
}

// Signed and well-formed, so that nothing but the rules of the protocol can tell.
pbft::Frame ByzantineSender::wrong_view_change(pbft::ViewChangeMessage message) {
  switch (random_.below(5)) {
    case 0:
      message.prepared.clear();
      break;
    case 1:
      message.prepared.clear();
      message.pre_prepared.clear();
      break;
    case 2:  // another batch, prepared in the newest view of all
      for (auto* records : {&message.prepared, &message.pre_prepared}) {
        for (pbft::BatchRecord& record : *records) {
          record.batch = digest_of(random_.below(3));
          record.view = message.view - 1;
        }
      }
      break;
    case 3:
      message.view += random_.below(4);
      break;
    default:
      message.stable = 0;
      message.certificate.clear();
      break;
  }
  return pbft::encode_view_change(message, keys_);
}

pbft::Frame ByzantineSender::wrong_new_view(const pbft::NewViewMessage& message) {
  std::vector<ByteView> view_changes = message.view_changes;
  pbft::Frame lie;
  switch (random_.below(3)) {
    case 0:
      view_changes.pop_back();
      break;
    case 1:
      view_changes.back() = view_changes.front();
      break;
    default:
      if (auto own = pbft::decode_view_change(view_changes[random_.below(view_changes.size())],
                                              keys_.replicas())) {
        lie = wrong_view_change(*own);  // in its own name, where it stood for another's
        view_changes.back() = *lie;
      }
      break;
  }
  return pbft::encode_new_view(message.view, view_changes, keys_);
}

pbft::Frame ByzantineSender::wrong_reply(ByteView frame) {
  auto reply = *pbft::decode_reply(frame);
  Bytes result(reply.result.begin(), reply.result.end());
  result.resize(std::max<std::size_t>(result.size(), 41));
  result[random_.below(result.size())] ^= 1;
  reply.result = result;
  switch (random_.below(4)) {
    case 0:
      reply.sigma += 1;
      break;
    case 1:
      reply.status = pbft::ReplyStatus::unavailable;
      break;
    case 2:
      reply.full = true;
      break;  // with a result that is not the digest's
    default:
      reply.full = true;
      reply.result_digest = sha256(result);
      break;
  }
  return pbft::encode_reply(reply, keys_);
}

pbft::Frame ByzantineSender::garbage(ByteView frame) {
  Bytes bytes(frame.begin(), frame.end());
  switch (random_.below(3)) {
    case 0:
      for (auto& byte : bytes)
        byte = static_cast<std::uint8_t>(random_.next());
      break;
    case 1:
      bytes[2] = static_cast<std::uint8_t>(random_.below(keys_.replicas()));  // another's name
      break;
    default:
      for (int i = 0; i < 4; ++i) {
        bytes[random_.below(bytes.size())] = static_cast<std::uint8_t>(random_.next());
      }
      break;
  }
  return std::make_shared<const Bytes>(std::move(bytes));
}

pbft::Frame ByzantineSender::other_world(const pbft::Frame& honest) {
  const std::uint32_t n = keys_.replicas();
  if (const auto vote = pbft::decode_vote(*honest, pbft::MessageType::commit, n)) {
    const auto second = second_proposals_.find(vote->sequence);
    if (second == second_proposals_.end()) return honest;
    return pbft::encode_vote(pbft::MessageType::commit, vote->view, vote->sequence,
                             second->second.batch, keys_);
  }
  const auto message = pbft::decode_pre_prepare(*honest, n);
  if (!message) return honest;
  const auto known = second_proposals_.find(message->sequence);
  if (known != second_proposals_.end()) return known->second.frame;
  // The same requests backwards, or an older one again.
  std::vector<Bytes> requests;
  for (const auto& request : message->requests) {
    const auto* begin = request.content.data();
    requests.emplace_back(begin, begin + request.content.size() + request.authenticator.size());
  }
  requests_seen_.insert(requests_seen_.end(), requests.begin(), requests.end());
  pbft::AgreedInput input = message->input;
  if (random_.chance(30)) {
    input.time += 1;  // the same requests, at another time
  } else {
    std::reverse(requests.begin(), requests.end());
    if (requests.size() == 1) requests[0] = requests_seen_[random_.below(requests_seen_.size())];
  }
  pbft::PrePrepareBuilder builder(honest->size());
  for (const Bytes& request : requests) {
    builder.append(request, sha256(pbft::decode_request(request, n)->content));
  }
  auto second = builder.finish(message->view, message->sequence, input, keys_);
  return second_proposals_.emplace(message->sequence, std::move(second)).first->second.frame;
}

}  // namespace prophecy::simulation
