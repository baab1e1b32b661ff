#include "pbft/core/intake.hpp"

#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"

namespace prophecy::pbft {

bool Intake::on_request(ByteView frame, ReplicaActions& out) {
  return handle(frame, false, out);
}

void Intake::on_forward(ByteView frame, ReplicaActions& out) {
  const auto message = decode_forward(frame);
  if (!message) return context_.drop(DropReason::malformed);
  if (!is_replica(message->replica, context_.quorum.replicas)) {
    return context_.drop(DropReason::unknown_sender);
  }
  // Nothing is passed on twice, or two replicas that disagree on the primary would play ball.
  if (!context_.is_primary()) return context_.drop(DropReason::wrong_view);
  handle(message->request, true, out);
}

bool Intake::handle(ByteView frame, bool forwarded, ReplicaActions& out) {
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
  if (!context_.keys.verify_authenticator(request->client, digest, request->authenticator)) {
    context_.drop(DropReason::bad_mac);
    return false;
  }
  if (!request->read_only) {
    order(*request, frame, digest, forwarded, out);
  } else if (forwarded) {
    context_.drop(DropReason::malformed);
  } else {
    execution_.read(*request, frame, out);
  }
  return true;
}

void Intake::order(const RequestMessage& request, ByteView frame, const Digest& digest,
                   bool forwarded, ReplicaActions& out) {
  Session& session = clients_.session(request.client, request.session);
  if (request.timestamp < session.last_timestamp) {
    return context_.drop(DropReason::stale_timestamp);
  }
  if (request.timestamp == session.last_timestamp) {
    // A retransmission. What is being executed will be answered in full.
    session.full_reply_timestamp = request.timestamp;
    if (session.replied) execution_.repeat_reply(request.client, request.session, session, out);
    return;
  }
  if (!context_.is_primary()) {
    // Clients turn to backups only when the primary seems not to have got the request, or the
    // replies not to have arrived.
    session.full_reply_timestamp = request.timestamp;
    session.known_timestamp = request.timestamp;
    session.known_digest = digest;
    ++context_.counters.requests_forwarded;
    out.sends.push_back({context_.primary(), 0, encode_forward(frame, context_.keys)});
    return;
  }
  if (request.timestamp < session.queued_timestamp) {
    return context_.drop(DropReason::stale_timestamp);
  }
  if (request.timestamp == session.queued_timestamp) {
    if (!forwarded) session.full_reply_timestamp = request.timestamp;
    return context_.drop(DropReason::duplicate);
  }
  if (!queue_.add(request, frame, digest)) return context_.drop(DropReason::queue_full);
  session.queued_timestamp = request.timestamp;
}

}  // namespace prophecy::pbft
