#include "pbft/core/client_machine.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/assert.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {

Client::Machine::Machine(const ClientSettings& settings, const KeyRing& keys,
                         const QuorumRule& quorum)
    : settings_(settings),
      keys_(keys),
      quorum_(quorum),
      replier_(quorum.replicas),
      views_(quorum.replicas, 0) {
  sessions_.reserve(settings_.session_count);
  for (std::uint32_t index = 0; index < settings_.session_count; ++index) {
    sessions_.emplace_back(quorum.replicas).timestamp = settings_.first_timestamp - 1;
    free_.push_back(index);
  }
}

std::uint32_t Client::Machine::quorum_of(const Session& session) const {
  const bool large = session.kind == CallKind::read_only || settings_.linearizable_reads;
  return large ? quorum_.committed : quorum_.weak;
}

CallId Client::Machine::submit(ByteView operation, CallKind kind, TimePoint deadline,
                               TimePoint now, ClientActions& out) {
  const CallId call = ++last_call_;
  ++counters_.calls;
  if (free_.empty() && waiting_.size() >= settings_.queue_max) {
    ++counters_.overloaded;
    out.completions.push_back({call, CallOutcome::overloaded, {}, 0, false});
    return call;
  }
  Waiting waiting{call, kind, deadline, begin_request(operation, quorum_.replicas)};
  if (free_.empty()) {
    waiting_.push_back(std::move(waiting));
    arm(deadline);
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
  session.fell_back = false;
  session.deadline = waiting.deadline;
  arm(session.deadline);
  send(session, index, std::move(waiting.begun), now, out);
}

void Client::Machine::send(Session& session, std::uint32_t index, Bytes begun, TimePoint now,
                           ClientActions& out) {
  ++session.timestamp;
  session.tally.clear();
  session.asked_for_result = false;
  session.replier = replier_.next();
  session.backoff = settings_.retransmit_after;
  session.retransmit_at = now + session.backoff;
  arm(session.retransmit_at);
  const bool read_only = session.kind == CallKind::read_only;
  session.frame = finish_request(std::move(begun), settings_.first_session + index,
                                 session.timestamp, read_only, session.replier, keys_);
  if (read_only) {
    send_to_all(session, out);
  } else {
    out.sends.push_back({primary_of(view_, quorum_.replicas), 0, session.frame});
  }
}

void Client::Machine::send_to_all(const Session& session, ClientActions& out) const {
  for (NodeId to = 0; to < quorum_.replicas; ++to) out.sends.push_back({to, 0, session.frame});
}

void Client::Machine::retransmit(Session& session, TimePoint now, ClientActions& out) {
  ++counters_.retransmissions;
  session.backoff = std::min(session.backoff * 2, settings_.retransmit_after_max);
  session.retransmit_at = now + session.backoff;
  arm(session.retransmit_at);
  send_to_all(session, out);
}

void Client::Machine::fall_back(Session& session, std::uint32_t index, TimePoint now,
                                ClientActions& out) {
  ++counters_.fell_back;
  session.kind = CallKind::ordered;
  session.fell_back = true;
  const auto request = decode_request(*session.frame, quorum_.replicas);
  ASSERT(request.has_value());
  send(session, index, begin_request(request->operation, quorum_.replicas), now, out);
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
  out.sends.push_back({replica, 0,
                       encode_hello(settings_.first_session, settings_.session_count, replica,
                                    keys_)});
}

void Client::Machine::on_frame(ByteView frame, TimePoint now, ClientActions& out) {
  ++counters_.frames_received;
  if (frame.size() > kFrameBytesMax) return drop(DropReason::bad_length);
  const auto reply = decode_reply(frame);
  if (!reply) return drop(DropReason::malformed);
  if (!is_replica(reply->replica, quorum_.replicas) || reply->client != keys_.self() ||
      reply->session < settings_.first_session ||
      reply->session - settings_.first_session >= settings_.session_count) {
    return drop(DropReason::unknown_sender);
  }
  const std::uint32_t index = reply->session - settings_.first_session;
  Session& session = sessions_[index];
  if (session.call == 0 || reply->timestamp != session.timestamp) {
    return on_late_reply(session, *reply, out);
  }
  if (!keys_.verify(reply->replica, sha256(reply->content), reply->tag)) {
    return drop(DropReason::bad_mac);
  }
  learn_view(reply->replica, reply->view);
  if (!session.tally.add(reply->replica, *reply)) return drop(DropReason::duplicate);
  if (reply->full && reply->replica == session.replier) replier_.delivered(session.replier);
  evaluate(session, index, now, out);
}

void Client::Machine::evaluate(Session& session, std::uint32_t index, TimePoint now,
                               ClientActions& out) {
  const std::uint32_t quorum = quorum_of(session);
  if (const ReplyTally::Reply* reply = session.tally.agreed(quorum)) {
    if (auto result = session.tally.take_result(*reply)) {
      return agree(session, index, *reply, std::move(*result), now, out);
    }
    // The one that was to send the result has sent something else: ask all, without waiting.
    const bool replier_answered =
        session.tally.replies()[session.replier].vote != ReplyTally::Vote::none;
    if (!replier_answered || session.asked_for_result) return;
    session.asked_for_result = true;
    replier_.let_down(session.replier);
    return retransmit(session, now, out);
  }
  if (session.tally.possible(quorum)) return;
  if (session.kind == CallKind::read_only) return fall_back(session, index, now, out);
  fail(session, index, CallOutcome::no_agreement, now, out);
}

void Client::Machine::agree(Session& session, std::uint32_t index,
                            const ReplyTally::Reply& reply, Bytes result, TimePoint now,
                            ClientActions& out) {
  ++counters_.agreed;
  if (session.kind == CallKind::ordered) {
    session.settled = {session.call, session.timestamp, reply.sigma, reply.digest, 0};
    const auto& replies = session.tally.replies();
    for (NodeId replica = 0; replica < replies.size(); ++replica) {
      if (replies[replica].vote != ReplyTally::Vote::done) continue;
      refute(session.settled, replica, replies[replica].sigma, replies[replica].digest, out);
    }
  }
  const Sigma sigma = session.kind == CallKind::ordered ? reply.sigma : 0;
  out.completions.push_back(
      {session.call, CallOutcome::agreed, std::move(result), sigma, session.fell_back});
  free_session(session, index, now, out);
}

void Client::Machine::refute(Settled& settled, NodeId replica, Sigma sigma, const Digest& digest,
                             ClientActions& out) {
  const std::uint64_t bit = std::uint64_t{1} << replica;
  if ((sigma == settled.sigma && digest == settled.digest) || (settled.refuted & bit) != 0) return;
  settled.refuted |= bit;
  ++counters_.refuted;
  out.refuted.push_back({settled.call, replica, settled.sigma, sigma, settled.digest, digest});
}

void Client::Machine::on_late_reply(Session& session, const ReplyMessage& reply,
                                    ClientActions& out) {
  Settled& settled = session.settled;
  if (settled.timestamp == 0 || reply.timestamp != settled.timestamp) {
    return drop(DropReason::stale_timestamp);
  }
  // The usual end of every call: one more that agrees, or cannot tell. Not worth a MAC.
  if (reply.status != ReplyStatus::done ||
      (reply.sigma == settled.sigma && reply.result_digest == settled.digest)) {
    return;
  }
  if (!keys_.verify(reply.replica, sha256(reply.content), reply.tag)) {
    return drop(DropReason::bad_mac);
  }
  refute(settled, reply.replica, reply.sigma, reply.result_digest, out);
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
      const bool quorum = session.tally.agreed(quorum_of(session)) != nullptr;
      if (quorum) replier_.let_down(session.replier);
      // A read that has no quorum by now is ordered. One that lacks only the result asks again.
      if (session.kind == CallKind::read_only && (!quorum || session.asked_for_result)) {
        fall_back(session, index, now, out);
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
  for (const Waiting& waiting : waiting_) arm(waiting.deadline);
}

// A primary is believed to have changed when f+1 replicas say so: one of them is correct.
void Client::Machine::learn_view(NodeId replica, std::uint64_t view) {
  if (view <= views_[replica]) return;
  views_[replica] = view;
  std::vector<std::uint64_t> sorted = views_;
  std::nth_element(sorted.begin(), sorted.begin() + (quorum_.weak - 1), sorted.end(),
                   std::greater<>());
  view_ = sorted[quorum_.weak - 1];
}

}  // namespace prophecy::pbft
