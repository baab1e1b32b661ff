#include "pbft/client/client_machine.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {
namespace {

// So many calls that had no answer before they were signed, each sent after the one before had its
// own, and new ones are signed at once, for so long. Then one goes without again. All that are in
// flight when a primary is lost count as one: replicas check so many signatures of a client, and
// more calls than that would wait.
constexpr std::uint32_t kSignedInRow = 8;
constexpr Duration kSignsFor = seconds(10);
// So long after the last reply the last f replicas are waited for, where others have none.
constexpr Duration kLastRepliesAwaited = seconds(5);
// So long behind the last reply a large result is asked for that a quorum agrees on: longer than a
// replica that has it takes to be restarted.
constexpr Duration kResultAwaited = seconds(30);

}  // namespace

Client::Machine::Machine(const ClientSettings& settings, const KeyRing& keys,
                         const QuorumRule& quorum)
    : settings_(settings),
      keys_(keys),
      quorum_(quorum),
      replier_(quorum.replicas),
      views_(quorum.replicas, 0),
      served_(quorum.replicas) {
  sessions_.reserve(settings_.session_count);
  for (std::uint32_t index = 0; index < settings_.session_count; ++index) {
    sessions_.emplace_back(quorum).timestamp = settings_.first_timestamp - 1;
    free_.push_back(index);
  }
}

// With linearizable reads, 2f+1 replicas have to be behind an ordered call before it is answered. A
// reply that is not tentative shows that, even where it differs or brings no result.
ReplyTally::Need Client::Machine::need_of(const Session& session) const {
  if (session.kind == CallKind::read_only) return {quorum_.committed, quorum_.committed};
  return {quorum_.weak, settings_.linearizable_reads ? quorum_.behind : quorum_.weak};
}

CallId Client::Machine::submit(ByteView operation, CallKind kind, TimePoint deadline, TimePoint now,
                               ClientActions& out, std::uint64_t epoch) {
  if (operation.size() > settings_.inline_bytes_max) {
    auto bytes = std::make_shared<const Bytes>(operation.begin(), operation.end());
    auto body = std::make_shared<const BodyTree>(std::move(bytes), settings_.body_leaf_bytes);
    // Reads are ordered, too: a body is fetched for what is ordered only.
    return begin(
        {0, CallKind::ordered, deadline, {}, std::move(body), kind == CallKind::read_only, epoch},
        now, out);
  }
  Bytes begun = begin_request(operation, quorum_.replicas, kind == CallKind::ordered ? epoch : 0);
  return begin({0, kind, deadline, std::move(begun), nullptr, false, epoch}, now, out);
}

CallId Client::Machine::submit(std::shared_ptr<const BodyTree> operation, TimePoint deadline,
                               TimePoint now, ClientActions& out, std::uint64_t epoch) {
  return begin({0, CallKind::ordered, deadline, {}, std::move(operation), false, epoch}, now, out);
}

CallId Client::Machine::begin(Waiting waiting, TimePoint now, ClientActions& out) {
  const CallId call = waiting.call = ++last_call_;
  ++counters_.calls;
  if (free_.empty() && waiting_.size() >= settings_.queue_max) {
    ++counters_.overloaded;
    out.completions.push_back({call, CallOutcome::overloaded, {}, 0, false});
    return call;
  }
  if (waiting.body != nullptr) {
    waiting.begun = begin_request(waiting.body->name(), quorum_.replicas, waiting.epoch);
  }
  if (free_.empty()) {
    arm(waiting.deadline);
    waiting_.push_back(std::move(waiting));
    return call;
  }
  const std::uint32_t index = free_.front();
  free_.pop_front();
  start(index, std::move(waiting), now, out);
  return call;
}

void Client::Machine::start(std::uint32_t index, Waiting waiting, TimePoint now,
                            ClientActions& out) {
  Session& session = sessions_[index];
  ASSERT(session.call == 0);
  ++in_flight_;
  session.call = waiting.call;
  session.kind = waiting.kind;
  session.fell_back = waiting.fell_back;
  session.epoch = waiting.epoch;
  session.body = std::move(waiting.body);
  session.deadline = waiting.deadline;
  arm(session.deadline);
  send(session, index, std::move(waiting.begun), now, out);
}

void Client::Machine::send(Session& session, std::uint32_t index, Bytes begun, TimePoint now,
                           ClientActions& out) {
  session.timestamp = std::max(session.timestamp, timestamp_floor_) + 1;
  session.tally.clear();
  session.overtaken.clear();
  session.asked_for_result = false;
  session.is_signed = false;
  session.is_signed_at_once = false;
  session.sent_at = now;
  session.heard_at = now;
  session.replier = replier_.next();
  session.backoff = settings_.retransmit_after;
  session.retransmit_at = now + session.backoff;
  arm(session.retransmit_at);
  const bool read_only = session.kind == CallKind::read_only;
  session.frame = finish_request(std::move(begun), settings_.first_session + index,
                                 session.timestamp, read_only, session.replier, keys_);
  session.key_generation = keys_.generation();
  if (session.kind == CallKind::ordered && now < signs_until_) {
    sign(session);
    session.is_signed_at_once = true;
  }
  // By digest: all replicas begin to fetch the body, so that none keeps the others waiting.
  if (read_only || session.body != nullptr) {
    send_to_all(session, out);
  } else {
    out.sends.push_back({primary_of(view_, quorum_.replicas), 0, session.frame});
  }
}

void Client::Machine::send_to_all(const Session& session, ClientActions& out) const {
  for (NodeId to = 0; to < quorum_.replicas; ++to)
    out.sends.push_back({to, 0, session.frame});
}

void Client::Machine::retransmit(Session& session, TimePoint now, ClientActions& out) {
  ++counters_.retransmissions;
  session.backoff = std::min(session.backoff * 2, settings_.retransmit_after_max);
  session.retransmit_at = now + session.backoff;
  arm(session.retransmit_at);
  if (session.key_generation != keys_.generation()) {
    const auto request = decode_request(*session.frame, quorum_.replicas);
    ASSERT(request.has_value());
    session.frame = renew_request(*request, keys_);
    session.key_generation = keys_.generation();
  }
  // Backups hold a request against their primary only when its signature shows them that the
  // primary, too, must find it authentic.
  if (session.kind == CallKind::ordered && !session.is_signed) {
    sign(session);
  }
  send_to_all(session, out);
}

void Client::Machine::sign(Session& session) const {
  session.frame = sign_request(*session.frame, keys_);
  session.is_signed = true;
}

// Replicas may want this client's signature, because a primary has shown them requests whose MACs
// it has damaged itself. Where calls are late for another reason, they are signed anyway.
void Client::Machine::note_signature(const Session& session, TimePoint now) {
  if (session.is_signed_at_once) return;
  if (session.is_signed && session.sent_at < signed_counted_at_) return;
  signed_counted_at_ = now;
  signed_in_row_ = session.is_signed ? std::min(signed_in_row_ + 1, kSignedInRow) : 0;
  if (signed_in_row_ == kSignedInRow) signs_until_ = now + kSignsFor;
}

void Client::Machine::fall_back(Session& session, std::uint32_t index, TimePoint now,
                                ClientActions& out) {
  ++counters_.fell_back;
  session.kind = CallKind::ordered;
  session.fell_back = true;
  send(session, index, begun_again(session), now, out);
}

Bytes Client::Machine::begun_again(const Session& session) const {
  if (session.body != nullptr)
    return begin_request(session.body->name(), quorum_.replicas, session.epoch);
  const auto request = decode_request(*session.frame, quorum_.replicas);
  ASSERT(request.has_value());
  return begin_request(request->operation, quorum_.replicas, session.epoch);
}

bool Client::Machine::lacks_replies(const Session& session, TimePoint now) const {
  return now - session.heard_at >= kLastRepliesAwaited &&
         session.tally.undecided() <= settings_.faults && session.tally.unavailable() > 0;
}

bool Client::Machine::lacks_result(const Session& session, TimePoint now) {
  return session.asked_for_result && now - session.heard_at >= kResultAwaited;
}

void Client::Machine::cancel(CallId call, TimePoint now, ClientActions& out) {
  const auto waiting = std::find_if(waiting_.begin(), waiting_.end(),
                                    [&](const Waiting& w) { return w.call == call; });
  if (waiting != waiting_.end()) {
    waiting_.erase(waiting);
    return;
  }
  const auto session = std::find_if(sessions_.begin(), sessions_.end(),
                                    [&](const Session& s) { return s.call == call; });
  if (call == 0 || session == sessions_.end()) return;
  free_session(*session, static_cast<std::uint32_t>(session - sessions_.begin()), now, out);
}

void Client::Machine::on_connected(NodeId replica, ClientActions& out) const {
  ASSERT(is_replica(replica, quorum_.replicas));
  out.sends.push_back(
      {replica, 0, encode_hello(settings_.first_session, settings_.session_count, replica, keys_)});
}

void Client::Machine::fail(Session& session, std::uint32_t index, CallOutcome outcome,
                           TimePoint now, ClientActions& out) {
  ++(outcome == CallOutcome::timed_out ? counters_.timed_out : counters_.no_agreement);
  out.completions.push_back({session.call, outcome, {}, 0, session.fell_back});
  free_session(session, index, now, out);
}

void Client::Machine::free_session(Session& session, std::uint32_t index, TimePoint now,
                                   ClientActions& out) {
  session.call = 0;
  session.frame.reset();
  session.body.reset();
  session.tally.clear();
  --in_flight_;
  drop_expired(now, out);
  if (waiting_.empty()) {
    free_.push_back(index);
    return;
  }
  Waiting next = std::move(waiting_.front());
  waiting_.pop_front();
  start(index, std::move(next), now, out);
}

void Client::Machine::drop_expired(TimePoint now, ClientActions& out) {
  while (!waiting_.empty() && waiting_.front().deadline <= now) {
    ++counters_.timed_out;
    out.completions.push_back({waiting_.front().call, CallOutcome::timed_out, {}, 0, false});
    waiting_.pop_front();
  }
}

void Client::Machine::on_tick(TimePoint now, ClientActions& out) {
  if (now < next_timer_) return;
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    if (waiting.deadline > now) return false;
    ++counters_.timed_out;
    out.completions.push_back({waiting.call, CallOutcome::timed_out, {}, 0, false});
    return true;
  });
  for (std::uint32_t index = 0; index < sessions_.size(); ++index) {
    Session& session = sessions_[index];
    if (session.call == 0) continue;
    if (session.deadline <= now) {
      fail(session, index, CallOutcome::timed_out, now, out);
    } else if (session.retransmit_at <= now) {
      const bool quorum = session.tally.agreed(need_of(session)) != nullptr;
      if (quorum) replier_.let_down(session.replier);
      // A read that has no quorum by now is ordered. One that lacks only the result asks again.
      if (session.kind == CallKind::read_only && (!quorum || session.asked_for_result)) {
        fall_back(session, index, now, out);
      } else if (quorum ? lacks_result(session, now) : lacks_replies(session, now)) {
        fail(session, index, CallOutcome::unavailable, now, out);
      } else {
        session.asked_for_result = quorum;
        retransmit(session, now, out);
      }
    }
  }
  next_timer_ = TimePoint::max();
  for (const Session& session : sessions_) {
    if (session.call != 0) arm(std::min(session.deadline, session.retransmit_at));
  }
  for (const Waiting& waiting : waiting_)
    arm(waiting.deadline);
}

}  // namespace prophecy::pbft
