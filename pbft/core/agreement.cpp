#include "pbft/core/agreement.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"

namespace prophecy::pbft {

std::uint64_t Agreement::high_water_mark() const {
  return std::min(checkpoints_.stable().sequence + context_.settings.window,
                  log_.first_retained() + log_.capacity() - 1);
}

bool Agreement::may_propose() const {
  const Progress& progress = context_.progress;
  return context_.is_primary() && context_.state == ReplicaState::normal &&
         progress.last_proposed - progress.last_ordered < context_.settings.batches_in_flight_max &&
         progress.last_proposed < high_water_mark() &&
         log_.bytes() < context_.settings.log_bytes_max;
}

void Agreement::propose(RequestQueue::Batch batch, ReplicaActions& out) {
  ASSERT(may_propose());
  const std::uint64_t sequence = ++context_.progress.last_proposed;
  auto [frame, digest] = batch.builder.finish(context_.view, sequence, context_.keys);
  context_.send_to_peers(frame, out);
  ++context_.counters.batches_proposed;
  Slot& slot = log_.open(sequence);
  accept(slot, std::move(frame), std::move(batch.requests), digest);
  advance(slot, out);
}

bool Agreement::admits(const PrePrepareMessage& head) {
  const auto refuse = [&](DropReason reason) {
    context_.drop(reason);
    return false;
  };
  if (head.view != context_.view) return refuse(DropReason::wrong_view);
  if (head.primary != context_.primary() || context_.is_primary()) {
    return refuse(DropReason::unknown_sender);
  }
  if (head.sequence <= context_.progress.last_ordered) return refuse(DropReason::duplicate);
  if (head.sequence > high_water_mark()) return refuse(DropReason::outside_water_marks);
  if (log_.bytes() >= 2 * context_.settings.log_bytes_max) return refuse(DropReason::queue_full);
  return true;
}

bool Agreement::on_pre_prepare(ByteView frame, ReplicaActions& out) {
  const auto head = decode_pre_prepare_head(frame);
  if (!head) {
    context_.drop(DropReason::malformed);
    return false;
  }
  if (!admits(*head)) return false;
  auto copy = std::make_shared<const Bytes>(frame.begin(), frame.end());
  const auto message = decode_pre_prepare(*copy, context_.quorum.replicas);
  if (!message) {
    context_.drop(DropReason::malformed);
    return false;
  }
  std::vector<Digest> digests;
  digests.reserve(message->requests.size());
  Sha256 chain;
  for (const RequestMessage& request : message->requests) {
    chain.update(digests.emplace_back(sha256(request.content)));
  }
  const Digest batch = chain.finish();
  if (!context_.keys.verify_authenticator(message->primary, content_digest(*message, batch),
                                          message->authenticator)) {
    context_.drop(DropReason::bad_mac);
    return false;
  }
  Slot& slot = log_.open(message->sequence);
  if (slot.phase != SlotPhase::empty) {
    context_.drop(slot.batch == batch ? DropReason::duplicate : DropReason::conflicting);
    return true;
  }
  if (!vouched_for(*message, batch, digests)) {
    context_.drop(DropReason::bad_mac);
    return true;
  }
  std::vector<BatchRequest> requests;
  requests.reserve(message->requests.size());
  for (const RequestMessage& request : message->requests) {
    requests.push_back({request.client, request.session, request.timestamp, request.replier,
                        static_cast<std::uint32_t>(request.operation.data() - copy->data()),
                        static_cast<std::uint32_t>(request.operation.size())});
  }
  accept(slot, std::move(copy), std::move(requests), batch);
  slot.own_prepare =
      encode_vote(MessageType::prepare, context_.view, slot.sequence, batch, context_.keys);
  slot.prepares.record(context_.self, batch);
  context_.send_to_peers(slot.own_prepare, out);
  advance(slot, out);
  return true;
}

bool Agreement::vouched_for(const PrePrepareMessage& message, const Digest& batch,
                            const std::vector<Digest>& digests) {
  bool all_authentic = true;
  for (std::size_t i = 0; i < message.requests.size(); ++i) {
    const RequestMessage& request = message.requests[i];
    if (request.read_only || !context_.keys.knows(request.client)) return false;
    if (context_.keys.verify_authenticator(request.client, digests[i], request.authenticator)) {
      continue;
    }
    // The part for this replica may be damaged, but the client may have sent the request itself.
    const Session& session = clients_.session(request.client, request.session);
    if (session.known_timestamp == request.timestamp && session.known_digest == digests[i]) {
      continue;
    }
    all_authentic = false;
  }
  if (all_authentic) return true;
  // Of f+1 replicas that stand for the batch, one is correct and has seen valid MACs, so clients
  // cannot be spoken for. The primary stands for it by proposing it.
  const Slot* slot = log_.find(message.sequence);
  return slot != nullptr && 1 + slot->prepares.count(batch) >= context_.quorum.weak;
}

void Agreement::accept(Slot& slot, Frame frame, std::vector<BatchRequest> requests,
                       const Digest& batch) {
  ASSERT(slot.phase == SlotPhase::empty);
  slot.phase = SlotPhase::pre_prepared;
  slot.batch = batch;
  slot.requests = std::move(requests);
  log_.set_pre_prepare(slot, std::move(frame));
}

bool Agreement::on_vote(MessageType type, ByteView frame, ReplicaActions& out) {
  const auto refuse = [&](DropReason reason) {
    context_.drop(reason);
    return false;
  };
  const auto vote = decode_vote(frame, type, context_.quorum.replicas);
  if (!vote) return refuse(DropReason::malformed);
  if (vote->view != context_.view) return refuse(DropReason::wrong_view);
  const bool prepare = type == MessageType::prepare;
  if (!is_replica(vote->replica, context_.quorum.replicas) || vote->replica == context_.self ||
      (prepare && vote->replica == context_.primary())) {
    return refuse(DropReason::unknown_sender);
  }
  if (vote->sequence > high_water_mark()) return refuse(DropReason::outside_water_marks);
  // Votes beyond a quorum are the normal end of every batch. They are not worth a MAC.
  if (vote->sequence <= context_.progress.last_ordered) return false;
  Slot& slot = log_.open(vote->sequence);
  if (slot.phase >= SlotPhase::committed || (prepare && slot.phase >= SlotPhase::prepared)) {
    return false;
  }
  if (!context_.keys.verify_authenticator(vote->replica, sha256(vote->content),
                                          vote->authenticator)) {
    return refuse(DropReason::bad_mac);
  }
  VoteSet& votes = prepare ? slot.prepares : slot.commits;
  switch (votes.record(vote->replica, vote->batch)) {
    case VoteSet::Outcome::added:
      advance(slot, out);
      break;
    case VoteSet::Outcome::duplicate:
      context_.drop(DropReason::duplicate);
      break;
    case VoteSet::Outcome::conflicting:
      context_.drop(DropReason::conflicting);
      break;
  }
  return true;
}

void Agreement::advance(Slot& slot, ReplicaActions& out) {
  if (slot.phase == SlotPhase::pre_prepared &&
      slot.prepares.count(slot.batch) >= context_.quorum.prepared) {
    slot.phase = SlotPhase::prepared;
    slot.own_commit =
        encode_vote(MessageType::commit, context_.view, slot.sequence, slot.batch, context_.keys);
    slot.commits.record(context_.self, slot.batch);
    context_.send_to_peers(slot.own_commit, out);
  }
  if (slot.phase == SlotPhase::prepared &&
      slot.commits.count(slot.batch) >= context_.quorum.committed) {
    slot.phase = SlotPhase::committed;
  }
}

}  // namespace prophecy::pbft
