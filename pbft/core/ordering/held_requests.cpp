#include "pbft/core/ordering/held_requests.hpp"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

namespace prophecy::pbft {
namespace {

// Without any part of its body.
constexpr Duration kGivenUpAfter = seconds(5);
// A primary that asks who holds a request is told so once in such a time.
constexpr Duration kPassedOnAgainAfter = milliseconds(25);
// Of one client, beside the bound in bytes: as many as fill that with bodies of 64 KiB, below which
// requests carry their operations; and of all clients, but that each of them has one.
constexpr std::uint32_t kBodiesOfClientMax = 1024;
constexpr std::uint32_t kBodiesMax = 2 * kBodiesOfClientMax;

// Others say that they have it, and could hold it against a primary.
std::uint32_t backers(const HeldRequest& request) {
  return request.is_signed ? static_cast<std::uint32_t>(std::popcount(request.holders)) : 0;
}

}  // namespace

// Orders two requests of one session. The one that the primary asks for goes first, so that it can
// have one of them ordered; then what more replicas say that they have, or a client that asks for
// ever newer things could have its primary blamed for one that backups hold; then the newer one.
bool HeldRequests::is_before(const HeldRequest& one, const HeldRequest& other) const {
  // A primary that has asked for a later view orders nothing in this one, and may have passed the
  // request on as a backup does.
  const bool leads = (context_.elsewhere >> context_.primary() & 1) == 0;
  const auto rank = [&](const HeldRequest& of) {
    return std::tuple(leads && of.asked_in == context_.view, backers(of), of.timestamp);
  };
  return rank(one) > rank(other);
}

void HeldRequests::note_forwarded(OfSession& session, NodeId replica, const Name& name) {
  std::array<Name, 2>& last = session.forwarded[replica];
  if (last[0] == name) return;
  last[1] = std::exchange(last[0], name);
}

std::uint64_t HeldRequests::holders_of(const OfSession& session, const Name& name) {
  std::uint64_t holders = 0;
  for (const auto& [replica, last] : session.forwarded) {
    if (last[0] == name || last[1] == name) holders |= std::uint64_t{1} << replica;
  }
  return holders;
}

bool HeldRequests::is_large(std::uint64_t bytes) const {
  return bytes > context_.settings.queue_bytes_max / 2;
}

bool HeldRequests::fits(NodeId client, std::uint64_t bytes, bool asks) {
  if (bytes > context_.settings.body_bytes_max) return false;
  if (fits_in(client, bytes, 1)) return true;
  // Else replicas that are full of different requests could never come to hold the same.
  return asks && (fits_in(client, bytes, 2) || (!is_large(bytes) && !is_asked_for(client)));
}

bool HeldRequests::fits_in(NodeId client, std::uint64_t bytes, std::uint32_t share) {
  const OfClient& held = of_client_[client];
  if (held.bodies >= share * kBodiesOfClientMax) return false;
  if (held.bodies > 0 && bodies_held_ >= share * kBodiesMax) return false;
  if (is_large(bytes)) return held.large < share;
  return held.bytes == 0 || (!is_large((held.bytes + bytes) / share) &&
                             bytes_ + bytes <= share * context_.settings.queue_bytes_max);
}

// The primary of this view has asked for something of the client that is held.
bool HeldRequests::is_asked_for(NodeId client) const {
  const auto is_asked = [&](const std::optional<HeldRequest>& held) {
    return held && held->asked_in == context_.view;
  };
  for (auto at = sessions_.lower_bound({client, 0}); at != sessions_.end(); ++at) {
    if (at->first.first != client) break;
    if (is_asked(at->second.whole) || is_asked(at->second.coming)) return true;
  }
  return false;
}

void HeldRequests::count(NodeId client, std::uint64_t bytes) {
  ++of_client_[client].bodies;
  ++bodies_held_;
  if (is_large(bytes)) {
    ++of_client_[client].large;
  } else {
    bytes_ += bytes;
    of_client_[client].bytes += bytes;
  }
}

void HeldRequests::drop(const SessionName& key, std::optional<HeldRequest>& request) {
  if (!request) return;
  const NodeId client = key.first;
  by_body_.erase(by_body_.find({request->body->name(), key}));
  const std::uint64_t bytes = request->body->name().size;
  --of_client_[client].bodies;
  --bodies_held_;
  if (is_large(bytes)) {
    --of_client_[client].large;
  } else {
    bytes_ -= bytes;
    of_client_[client].bytes -= bytes;
  }
  request.reset();
}

// The same request again.
void HeldRequests::join(HeldRequest& held, const RequestMessage& request, ByteView frame,
                        std::optional<NodeId> forwarder, bool asks) {
  // Not at once: replicas in different views, each the primary of another, would ask each other
  // without end.
  if (asks && context_.now - held.passed_on_at >= kPassedOnAgainAfter) held.passed_on_in.reset();
  if (asks) held.asked_in = context_.view;
  if (forwarder) {
    held.holders |= std::uint64_t{1} << *forwarder;
    Bodies::ask_also(*held.body, {*forwarder, 0});
  }
  if (request.signature.empty()) return;
  if (!forwarder) {  // the client asks again: the primary may not know
    held.passed_on_in.reset();
    held.is_timed = false;
  }
  if (held.is_signed) return;
  held.is_signed = true;
  held.frame = std::make_shared<const Bytes>(frame.begin(), frame.end());
}

HeldRequests::Outcome HeldRequests::hold(const RequestMessage& request, ByteView frame,
                                         const Digest& digest, std::optional<NodeId> forwarder,
                                         bool asks) {
  const SessionName key(request.client, request.session);
  OfSession& session = sessions_[key];
  const Outcome outcome = hold_in(session, key, request, frame, digest, forwarder, asks);
  if (session.whole || session.coming) {
    arm_to_give_up(key, session);
  } else if (session.forwarded.empty()) {
    sessions_.erase(key);
  } else {  // so that what others say is known a while if it finds a place
    arm(key, context_.now + kGivenUpAfter);
  }
  return outcome;
}

HeldRequests::Outcome HeldRequests::hold_in(OfSession& session, const SessionName& key,
                                            const RequestMessage& request, ByteView frame,
                                            const Digest& digest, std::optional<NodeId> forwarder,
                                            bool asks) {
  const Name name{request.timestamp, digest};
  if (forwarder) note_forwarded(session, *forwarder, name);
  for (std::optional<HeldRequest>* held : {&session.whole, &session.coming}) {
    if (!*held || (*held)->timestamp != request.timestamp) continue;
    if ((*held)->digest != digest) {
      // Its client is faulty. So that all come to hold the same, the primary's goes first, and
      // before that what is signed.
      const bool yields = forwarder && !request.signature.empty() && (asks || !(*held)->is_signed);
      if (!yields) return Outcome::conflicting;
      drop(key, *held);
      continue;
    }
    join(**held, request, frame, forwarder, asks);
    return Outcome::held;
  }
  HeldRequest fresh;
  fresh.client = request.client;
  fresh.session = request.session;
  fresh.timestamp = request.timestamp;
  fresh.digest = digest;
  fresh.held_since = context_.now;
  fresh.is_signed = !request.signature.empty();
  fresh.holders = holders_of(session, name);
  if (asks) fresh.asked_in = context_.view;
  const bool is_older = session.whole && fresh.timestamp < session.whole->timestamp;
  if (is_older && !is_before(fresh, *session.whole)) return Outcome::stale;
  if (session.coming) {
    if (!is_before(fresh, *session.coming)) return Outcome::stale;
    drop(key, session.coming);
  }
  if (!fits(request.client, request.body->size, asks)) return Outcome::no_room;
  fresh.frame = std::make_shared<const Bytes>(frame.begin(), frame.end());
  fresh.body = bodies_.want(*request.body, {request.client, request.session});
  for (NodeId replica = 0; replica < context_.quorum.replicas; ++replica) {
    if ((fresh.holders >> replica & 1) != 0) Bodies::ask_also(*fresh.body, {replica, 0});
  }
  count(request.client, request.body->size);
  by_body_.emplace(*request.body, key);
  session.coming = std::move(fresh);
  settle(key, session);
  return Outcome::held;
}

void HeldRequests::settle(const SessionName& key, OfSession& session) {
  ++context_.looks;
  const std::uint64_t ordered = clients_.session(key.first, key.second).ordered_timestamp();
  for (std::optional<HeldRequest>* held : {&session.whole, &session.coming}) {
    if (*held && (*held)->timestamp <= ordered) drop(key, *held);
  }
  if (!session.coming) return;
  switch (session.coming->body->state()) {
    case Body::State::missing:
      if (context_.now - session.coming->body->progressed_at() < kGivenUpAfter) return;
      ++context_.counters.bodies_given_up;
      return drop(key, session.coming);
    case Body::State::storing:  // however long the disk takes
      return;
    case Body::State::broken:
      ++context_.counters.bodies_given_up;
      return drop(key, session.coming);
    case Body::State::whole:
      break;
  }
  if (!session.coming->whole_since) session.coming->whole_since = context_.now;
  if (session.whole && !is_before(*session.coming, *session.whole)) return;
  std::swap(session.whole, session.coming);
  // The one before keeps its place when it is held against the primary, or may be.
  if (session.coming && backers(*session.coming) == 0) drop(key, session.coming);
}

std::vector<HeldRequest*> HeldRequests::whole() {
  std::vector<HeldRequest*> found;
  view_then_ = context_.view;
  for (auto at = sessions_.begin(); at != sessions_.end();) {
    OfSession& session = at->second;
    settle(at->first, session);
    if (HeldRequest* whole = whole_of(session)) found.push_back(whole);
    arm_to_give_up(at->first, session);
    at = session.whole || session.coming ? std::next(at) : sessions_.erase(at);
  }
  return found;
}

// The disk may have lost it since.
HeldRequest* HeldRequests::whole_of(OfSession& session) {
  const bool is_whole = session.whole && session.whole->body->state() == Body::State::whole;
  return is_whole ? &*session.whole : nullptr;
}

HeldRequest* HeldRequests::whole_of(NodeId client, std::uint32_t session) {
  const auto found = sessions_.find({client, session});
  if (found == sessions_.end()) return nullptr;
  settle(found->first, found->second);
  arm_to_give_up(found->first, found->second);
  if (!found->second.whole && !found->second.coming) {
    sessions_.erase(found);
    return nullptr;
  }
  return whole_of(found->second);
}

HeldRequest* HeldRequests::second_of(NodeId client, std::uint32_t session) {
  const auto found = sessions_.find({client, session});
  if (found == sessions_.end()) return nullptr;
  std::optional<HeldRequest>& second = found->second.coming;
  const bool is_here = second && second->body->state() == Body::State::whole;
  return found->second.whole && is_here ? &*second : nullptr;
}

TimePoint HeldRequests::timer_of(const OfSession& session) {
  const bool is_coming = session.coming && session.coming->body->state() == Body::State::missing;
  return is_coming ? session.coming->body->progressed_at() + kGivenUpAfter : TimePoint::max();
}

std::vector<SessionName> HeldRequests::sessions_of(const std::vector<BodyName>& bodies) const {
  std::vector<SessionName> keys;
  for (const BodyName& body : bodies) {
    for (auto at = by_body_.lower_bound({body, SessionName{}});
         at != by_body_.end() && at->first == body; ++at) {
      keys.push_back(at->second);
    }
  }
  return keys;
}

void HeldRequests::arm(const SessionName& key, TimePoint at) {
  if (at == TimePoint::max()) return;
  const auto [armed, is_new] = armed_at_.try_emplace(key, at);
  if (!is_new) {
    if (armed->second <= at) return;
    timers_.erase({armed->second, key});
    armed->second = at;
  }
  timers_.emplace(at, key);
}

void HeldRequests::arm_to_give_up(const SessionName& key, const OfSession& session) {
  arm(key, timer_of(session));
}

std::vector<SessionName> HeldRequests::take_due() {
  std::vector<SessionName> due;
  while (next_timer() <= context_.now) {
    due.push_back(timers_.begin()->second);
    armed_at_.erase(due.back());
    timers_.erase(timers_.begin());
  }
  return due;
}

}  // namespace prophecy::pbft
