#include "pbft/core/intake/intake.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.hpp"
#include "pbft/wire/authenticated.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"

namespace prophecy::pbft {
namespace {

// A body goes from one replica to the next at this rate at least, or the primary is blamed for it.
constexpr std::uint64_t kSpreadBytesPerSecond = std::uint64_t{8} << 20;
// And so much later: a client that does not deliver is asked first, here and there.
constexpr Duration kTurningToReplicas = milliseconds(500);
// A request by digest for which the queue had no room, or whose place was taken, is tried again.
constexpr Duration kQueuedAgainAfter = milliseconds(100);

// All replicas are sent a request by digest at once; only when it is retransmitted does that say
// that its client lacks the result.
bool needs_result(const RequestMessage& request) {
  return !request.body || !request.signature.empty();
}

}  // namespace

bool Intake::on_request(ByteView frame, TimePoint now, ReplicaActions& out) {
  return handle(frame, std::nullopt, now, out);
}

void Intake::on_forward(ByteView frame, TimePoint now, ReplicaActions& out) {
  const auto message = decode_forward(frame);
  if (!message) return context_.drop(DropReason::malformed);
  if (!is_replica(message->replica, context_.quorum.replicas)) {
    return context_.drop(DropReason::unknown_sender);
  }
  // That it has the request's body as well is its own statement.
  if (message->replica != context_.relay) return context_.drop(DropReason::unknown_sender);
  // Nothing is passed on twice, or two replicas that disagree on the primary would play ball. But
  // where a body is, all are told.
  if (!is_leading()) {
    const auto request = decode_request(message->request, context_.quorum.replicas);
    if (!request || !request->body) return context_.drop(DropReason::wrong_view);
  }
  handle(message->request, message->replica, now, out);
}

bool Intake::handle(ByteView frame, std::optional<NodeId> forwarder, TimePoint now,
                    ReplicaActions& out) {
  auto request = decode_request(frame, context_.quorum.replicas);
  if (!request) {
    context_.drop(DropReason::malformed);
    return false;
  }
  if (!context_.keys.knows(request->client)) {
    context_.drop(DropReason::unknown_sender);
    return false;
  }
  const Digest digest = sha256(request->content);
  if (!is_authentic(*request, digest)) return false;
  if (!request->read_only) {
    order(*request, frame, digest, forwarder, now, out);
  } else if (forwarder) {
    context_.drop(DropReason::malformed);
  } else {
    execution_.read(*request, frame, out);
  }
  return true;
}

// One that is signed has to be signed well, or it would convince some replicas and not others. But
// its MAC is looked at first: it tells who pays for the signature, unless a replica does that has
// passed the request on. It covers the signature, so that the client has put it there. Nobody pays
// for the same twice, nor for what is over: anybody may have recorded it.
bool Intake::is_authentic(RequestMessage& request, const Digest& digest) {
  const Digest proven = authenticated_digest(request, digest);
  const bool has_mac = context_.keys.verify_authenticator(request.client, proven,
                                                          request.authenticator, request.session);
  const bool is_signed = !request.signature.empty();
  if (!has_mac && !(is_signed && context_.relay)) {
    context_.drop(context_.mac_failure(request.client, request.session));
    return false;
  }
  if (!is_signed) return true;
  const Session* session = clients_.find(request.client, request.session);
  if (session != nullptr) {
    if (has_mac && is_ordered(request, *session)) return true;
    if (request.timestamp < session->last_timestamp) {
      context_.drop(DropReason::stale_timestamp);
      return false;
    }
    if (session->known_signed == proven) return true;
    if (has_mac && !context_.relay && request.timestamp < session->known_signed_timestamp) {
      // The session has gone on. This counts as if it was not signed. But a replica that passes it
      // on may wait for this one, and pays.
      request.signature = {};
      return true;
    }
  }
  // The front door has seen to the relay's allowance.
  if (!context_.relay &&
      !context_.payments.may_cause(request.client, Payments::Share::own, context_.now)) {
    // Its MAC is right. A primary can do without the signature, unless it wants one.
    if (is_leading() && !clients_.demands_signature(request.client, context_.now)) {
      request.signature = {};
      return true;
    }
    context_.drop(DropReason::rate_limited);
    return false;
  }
  if (!context_.is_signed_by(request.client, digest, request.signature)) {
    context_.drop(DropReason::bad_signature);
    return false;
  }
  Session& known = clients_.session(request.client, request.session);
  if (request.timestamp < known.known_signed_timestamp) return true;
  known.known_signed = proven;
  known.known_signed_timestamp = request.timestamp;
  return true;
}

// What comes of it is the same, whether it is signed or not: nothing, or a reply.
bool Intake::is_ordered(const RequestMessage& request, const Session& session) const {
  if (request.read_only) return false;
  return request.timestamp < session.last_timestamp ||
         (request.timestamp == session.last_timestamp && !execution_.is_undone(session));
}

void Intake::order(const RequestMessage& request, ByteView frame, const Digest& digest,
                   std::optional<NodeId> forwarder, TimePoint now, ReplicaActions& out) {
  Session& session = clients_.session(request.client, request.session);
  if (request.timestamp < session.last_timestamp) {
    if (!forwarder) answer_stale(request, session, out);
    return context_.drop(DropReason::stale_timestamp);
  }
  if (request.timestamp == session.last_timestamp && !execution_.is_undone(session)) {
    if (forwarder && !is_leading()) return;
    // A retransmission. What is being executed will be answered in full.
    if (needs_result(request)) session.full_reply_timestamp = request.timestamp;
    execution_.repeat_reply(session, out);
    return;
  }
  if (request.body) return hold(request, frame, digest, forwarder, out);
  if (!is_leading()) {
    // Clients turn to backups only when the primary seems not to have got the request, or the
    // replies not to have arrived.
    session.full_reply_timestamp = request.timestamp;
    session.known_timestamp = request.timestamp;
    session.known_digest = digest;
    // A MAC that is right for this replica may be wrong for the primary, which is not to be blamed
    // then. A signature is right for all (WebBFT, section 4.3, has the attack).
    if (request.signature.empty()) {
      if (context_.state == ReplicaState::normal) pass_on(frame, out);
      return;
    }
    patience_.note(request, frame, now, context_.progress.last_ordered);
    return pass_on_waiting(out);
  }
  const bool is_waited_for = forwarder && !request.signature.empty();
  if (is_waited_for && request.timestamp <= session.queued_timestamp) {
    queue_.bring_forward(request.client, request.session, request.timestamp);
  }
  if (request.timestamp < session.queued_timestamp) {
    return context_.drop(DropReason::stale_timestamp);
  }
  if (request.timestamp == session.queued_timestamp) {
    if (!forwarder) session.full_reply_timestamp = request.timestamp;
    return context_.drop(DropReason::duplicate);
  }
  (void)enqueue(request, frame, digest, {},
                is_waited_for ? RequestQueue::Place::front : RequestQueue::Place::last);
}

// A client whose clock was set back while it did not run begins below its last timestamp. Its MAC
// is right: nobody else can ask for this, and a recorder can have it repeated at a bounded rate
// only.
void Intake::answer_stale(const RequestMessage& request, Session& session, ReplicaActions& out) {
  if (!context_.takes_part() || !ClientTable::may_answer_stale(session, context_.now)) return;
  ReplyMessage reply;
  reply.view = context_.view;
  reply.client = request.client;
  reply.session = request.session;
  reply.timestamp = request.timestamp;
  reply.status = ReplyStatus::stale;
  reply.sigma = session.last_timestamp;
  out.sends.push_back({request.client, request.session, encode_reply(reply, context_.keys)});
  ++context_.counters.replies_sent;
}

void Intake::hold(const RequestMessage& request, ByteView frame, const Digest& digest,
                  std::optional<NodeId> forwarder, ReplicaActions& out) {
  if (!forwarder) {
    Session& session = clients_.session(request.client, request.session);
    if (needs_result(request)) session.full_reply_timestamp = request.timestamp;
    session.known_timestamp = request.timestamp;
    session.known_digest = digest;
  }
  // A primary asks for what is signed alone. For anything else nobody times it, so what it names
  // would keep newer requests waiting for as long as it likes.
  const bool asks = forwarder && *forwarder == context_.primary() && !request.signature.empty();
  switch (held_.hold(request, frame, digest, forwarder, asks)) {
    case HeldRequests::Outcome::held:
      return go_on_in(request.client, request.session, out);
    case HeldRequests::Outcome::stale:
      return context_.drop(DropReason::stale_timestamp);
    case HeldRequests::Outcome::conflicting:
      return context_.drop(DropReason::conflicting);
    case HeldRequests::Outcome::no_room:
      return context_.drop(DropReason::queue_full);
  }
}

void Intake::on_bodies(ReplicaActions& out) {
  for (HeldRequest* held : held_.whole())
    go_on_with(*held, out);
}

void Intake::on_settled(const std::vector<BodyName>& bodies, ReplicaActions& out) {
  look_at(held_.sessions_of(bodies), out);
}

void Intake::on_ordered(ReplicaActions& out) {
  execution_.take_ordered(ordered_);
  const bool is_loaded = execution_.take_loaded();
  if (is_loaded || held_.knows_other_view()) return on_bodies(out);
  look_at(ordered_, out);
}

void Intake::on_tick(ReplicaActions& out) {
  look_at(held_.take_due(), out);
}

void Intake::look_at(const std::vector<SessionName>& sessions, ReplicaActions& out) {
  for (const auto& [client, session] : sessions)
    go_on_in(client, session, out);
}

// The primary of a view chooses which of two requests comes first there. Others tell of their
// second one as well: without it, those may be too few who have it as their first. The client may
// have given up what is first here, and nobody else may have heard of that.
void Intake::go_on_in(NodeId client, std::uint32_t session, ReplicaActions& out) {
  if (HeldRequest* held = held_.whole_of(client, session)) go_on_with(*held, out);
  if (is_leading()) return;
  HeldRequest* second = held_.second_of(client, session);
  if (second != nullptr && second->is_signed) tell_of(*second, out);
}

// Also while it asks for another view: the others may need it to get there.
void Intake::tell_of(HeldRequest& held, ReplicaActions& out) {
  if (held.passed_on_in == context_.view) return;
  if (held.is_signed) {
    if (const TimePoint at = may_pass_on_at(held.client); at > context_.now) {
      held_.arm({held.client, held.session}, at);
      return;
    }
  }
  held.passed_on_in = context_.view;
  held.passed_on_at = context_.now;
  ++context_.counters.requests_forwarded;
  const Frame frame = encode_forward(*held.frame, context_.keys);
  for (NodeId to = 0; to < context_.quorum.replicas; ++to) {
    if (to != context_.self) out.sends.push_back({to, 0, frame, true});
  }
}

void Intake::pass_on_waiting(ReplicaActions& out) {
  if (!is_following()) return;
  for (const Patience::Due& due : patience_.due(context_.now)) {
    if (const TimePoint at = may_pass_on_at(due.client); at > context_.now) {
      patience_.put_off(due.client, at);
      continue;
    }
    // The rest of the time-out is for ordering it.
    patience_.note_sent(due.client, context_.now,
                        context_.now + context_.settings.view_change_timeout / 2);
    pass_on(*due.frame, out);
  }
}

TimePoint Intake::next_timer() const {
  return is_following() ? std::min(held_.next_timer(), patience_.next_due()) : held_.next_timer();
}

// That a backup passes it on tells all others that the body is there as well. The primary proposes
// what as many have as it takes to prepare it, and nothing before: all later batches would wait
// behind one that backups cannot prepare. A client that serves all has that at once. Nor does a
// backup hold it against the primary before: correct ones have told the primary the same.
void Intake::go_on_with(HeldRequest& held, ReplicaActions& out) {
  const auto request_of = [&] {
    const auto request = decode_request(*held.frame, context_.quorum.replicas);
    ASSERT(request.has_value());
    return *request;
  };
  const auto holders = 1 + static_cast<std::uint32_t>(std::popcount(held.holders));
  if (!is_leading()) {
    held.spread_at.reset();
    held.enough_since.reset();
    const bool counts = held.is_signed && holders >= context_.quorum.holders;
    if (counts && !std::exchange(held.is_timed, true)) {
      // The primary may have to get the body from here.
      const Duration fetched_in = *held.whole_since - held.held_since;
      patience_.note(request_of(), *held.frame, context_.now + fetched_in + time_to_spread(held),
                     context_.progress.last_ordered);
    }
    return tell_of(held, out);
  }
  const Session& session = clients_.session(held.client, held.session);
  if (held.timestamp <= session.queued_timestamp) {
    const std::uint64_t voters = held.holders & ~context_.elsewhere;
    if (voters == std::exchange(held.holders_queued, voters)) return;
    return queue_.note_holders(held.client, held.session, held.timestamp, voters);
  }
  if (holders < context_.quorum.holders || awaits_voters(held)) return spread(held, out);
  held.holders_queued = held.holders & ~context_.elsewhere;
  if (!enqueue(request_of(), *held.frame, held.digest, {held.body, held.holders_queued}))
    held_.arm({held.client, held.session}, context_.now + kQueuedAgainAfter);
}

// Replicas that have asked for a later view do not vote in this one: with them alone, a correct
// primary would lose its view while a slower backup still fetches the body. But it may wait in vain
// for one that is faulty, and then the next view is right: so it waits for half of the time that
// backups give it.
bool Intake::awaits_voters(HeldRequest& held) {
  const auto voters =
      1 + static_cast<std::uint32_t>(std::popcount(held.holders & ~context_.elsewhere));
  if (voters >= context_.quorum.holders) return false;
  if (!held.enough_since) held.enough_since = context_.now;
  const TimePoint until = *held.enough_since + time_to_spread(held) / 2;
  if (context_.now >= until) return false;
  held_.arm({held.client, held.session}, until);
  return true;
}

Duration Intake::time_to_spread(const HeldRequest& held) {
  return kTurningToReplicas +
         microseconds(held.body->name().size * 1'000'000 / kSpreadBytesPerSecond);
}

// Those that have no body, and do not get it from the client, may get it from here. Only what is
// signed: it is what backups hold against their primary.
void Intake::spread(HeldRequest& held, ReplicaActions& out) {
  if (!held.is_signed) return;
  const Duration fetched_in = *held.whole_since - held.held_since;
  const Duration pause = std::max(context_.settings.view_change_timeout, fetched_in) / 4;
  if (!held.spread_at) held.spread_at = *held.whole_since + pause;
  if (context_.now >= *held.spread_at) held.spread_at = may_pass_on_at(held.client);
  if (context_.now >= *held.spread_at) {
    // Backups come to hold it, so it keeps its place here as well.
    held.asked_in = context_.view;
    const Frame frame = encode_forward(*held.frame, context_.keys);
    for (NodeId to = 0; to < context_.quorum.replicas; ++to) {
      if (to != context_.self && (held.holders >> to & 1) == 0) out.sends.push_back({to, 0, frame});
    }
    held.spread_at = context_.now + std::max(4 * pause, time_to_spread(held));
  }
  held_.arm({held.client, held.session}, *held.spread_at);
}

bool Intake::enqueue(const RequestMessage& request, ByteView frame, const Digest& digest,
                     const RequestQueue::HeldBody& body, RequestQueue::Place place) {
  if (request.signature.empty() && clients_.demands_signature(request.client, context_.now)) {
    context_.drop(DropReason::signature_wanted);
    return true;
  }
  displaced_.clear();
  const bool is_queued = queue_.add(request, frame, digest, body, place, displaced_);
  for (const RequestQueue::Displaced& other : displaced_) {
    ++context_.counters.dropped[static_cast<std::size_t>(DropReason::queue_full)];
    // Its client, or a backup, sends it again.
    Session& session = clients_.session(other.client, other.session);
    if (session.queued_timestamp == other.timestamp) session.queued_timestamp = 0;
    held_.arm({other.client, other.session}, context_.now + kQueuedAgainAfter);
  }
  if (is_queued) {
    clients_.session(request.client, request.session).queued_timestamp = request.timestamp;
  } else {
    context_.drop(DropReason::queue_full);
  }
  return is_queued;
}

// The others check so many signatures on this replica's behalf, and no more: a client is not to use
// them up. Where many clients wait, each has as much of them.
TimePoint Intake::may_pass_on_at(NodeId client) {
  const std::uint64_t allowed =
      std::max(Payments::kOfReplica / context_.settings.faults, Payments::kOfReplicaMin) / 2;
  const std::uint64_t clients = std::max<std::uint64_t>(patience_.clients(), 2);
  const std::uint64_t share = std::max<std::uint64_t>(allowed / clients, 1);
  Allowance& of_client = passed_on_of_client_[client];
  TimePoint at = context_.now;
  if (!passed_on_.is_left(allowed, Payments::kInterval, at)) {
    at = passed_on_.ends_at(Payments::kInterval);
  }
  if (!of_client.is_left(share, Payments::kInterval, context_.now)) {
    at = std::max(at, of_client.ends_at(Payments::kInterval));
  }
  if (at > context_.now) return at;
  passed_on_.charge(1);
  of_client.charge(1);
  return at;
}

void Intake::pass_on(ByteView frame, ReplicaActions& out) {
  ++context_.counters.requests_forwarded;
  out.sends.push_back({context_.primary(), 0, encode_forward(frame, context_.keys), true});
}

void Intake::on_new_view(ReplicaActions& out) {
  queue_.clear();
  clients_.forget_queued();
  if (!context_.is_primary()) {
    patience_.make_due();
    pass_on_waiting(out);
    return on_bodies(out);
  }
  for (const Frame& frame : patience_.frames()) {
    const auto request = decode_request(*frame, context_.quorum.replicas);
    ASSERT(request.has_value());
    if (!request->body) (void)enqueue(*request, *frame, sha256(request->content), {});
  }
  on_bodies(out);
}

}  // namespace prophecy::pbft
