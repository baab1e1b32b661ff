#include "pbft/core/intake.hpp"

#include "base/assert.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"

namespace prophecy::pbft {

bool Intake::on_request(ByteView frame, TimePoint now, ReplicaActions& out) {
  return handle(frame, false, now, out);
}

void Intake::on_forward(ByteView frame, TimePoint now, ReplicaActions& out) {
  const auto message = decode_forward(frame);
  if (!message) return context_.drop(DropReason::malformed);
  if (!is_replica(message->replica, context_.quorum.replicas)) {
    return context_.drop(DropReason::unknown_sender);
  }
  // Nothing is passed on twice, or two replicas that disagree on the primary would play ball.
  if (!is_leading()) return context_.drop(DropReason::wrong_view);
  handle(message->request, true, now, out);
}

bool Intake::handle(ByteView frame, bool forwarded, TimePoint now, ReplicaActions& out) {
  const auto request = decode_request(frame, context_.quorum.replicas);
  if (!request) {
    context_.drop(DropReason::malformed);
    return false;
  }
  if (!context_.keys.knows(request->client)) {
    context_.drop(DropReason::unknown_sender);
    return false;
  }
  const Digest digest = sha256(request->content);
  // One that is signed has to be signed well, or it would convince some replicas and not others.
  const bool is_signed = !request->signature.empty();
  if (is_signed ? !context_.keys.verify_signature(request->client, digest, request->signature)
                : !context_.keys.verify_authenticator(request->client, digest,
                                                      request->authenticator, request->session)) {
    context_.drop(is_signed ? DropReason::bad_signature
                            : context_.mac_failure(request->client, request->session));
    return false;
  }
  if (!request->read_only) {
    order(*request, frame, digest, forwarded, now, out);
  } else if (forwarded) {
    context_.drop(DropReason::malformed);
  } else {
    execution_.read(*request, frame, out);
  }
  return true;
}

void Intake::order(const RequestMessage& request, ByteView frame, const Digest& digest,
                   bool forwarded, TimePoint now, ReplicaActions& out) {
  Session& session = clients_.session(request.client, request.session);
  if (request.timestamp < session.last_timestamp) {
    return context_.drop(DropReason::stale_timestamp);
  }
  if (request.timestamp == session.last_timestamp) {
    // A retransmission. What is being executed will be answered in full.
    session.full_reply_timestamp = request.timestamp;
    if (session.replied) execution_.repeat_reply(session, out);
    return;
  }
  if (!is_leading()) {
    // Clients turn to backups only when the primary seems not to have got the request, or the
    // replies not to have arrived.
    session.full_reply_timestamp = request.timestamp;
    session.known_timestamp = request.timestamp;
    session.known_digest = digest;
    // A MAC that is right for this replica may be wrong for the primary, which is not to be blamed
    // then. A signature is right for all (WebBFT, section 4.3, has the attack).
    if (!request.signature.empty()) patience_.note(request, frame, now);
    if (context_.state == ReplicaState::normal) pass_on(frame, out);
    return;
  }
  if (request.timestamp < session.queued_timestamp) {
    return context_.drop(DropReason::stale_timestamp);
  }
  if (request.timestamp == session.queued_timestamp) {
    if (!forwarded) session.full_reply_timestamp = request.timestamp;
    return context_.drop(DropReason::duplicate);
  }
  enqueue(request, frame, digest);
}

void Intake::enqueue(const RequestMessage& request, ByteView frame, const Digest& digest) {
  if (request.signature.empty() && clients_.demands_signature(request.client, context_.now)) {
    return context_.drop(DropReason::signature_wanted);
  }
  if (!queue_.add(request, frame, digest)) return context_.drop(DropReason::queue_full);
  clients_.session(request.client, request.session).queued_timestamp = request.timestamp;
}

void Intake::pass_on(ByteView frame, ReplicaActions& out) {
  ++context_.counters.requests_forwarded;
  out.sends.push_back({context_.primary(), 0, encode_forward(frame, context_.keys)});
}

void Intake::on_new_view(ReplicaActions& out) {
  queue_.clear();
  clients_.forget_queued();
  for (const Frame& frame : patience_.frames()) {
    if (!context_.is_primary()) {
      pass_on(*frame, out);
      continue;
    }
    const auto request = decode_request(*frame, context_.quorum.replicas);
    ASSERT(request.has_value());
    enqueue(*request, *frame, sha256(request->content));
  }
}

}  // namespace prophecy::pbft
