// What a client makes of what replicas send: agreement, evidence, the end of all hope; or parts of
// a body for them.
#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "pbft/client/client_machine.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/limits.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft {
namespace {

// What one replica may fetch in each such time.
constexpr Duration kReplicaServingTime = milliseconds(50);
constexpr std::uint64_t kReplicaServedBytesMax = std::uint64_t{8} << 20;
// Each is a frame to make, however small.
constexpr std::uint64_t kPartCostMin = 16 * 1024;
// Of results that nobody else has confirmed yet, over all calls. A faulty replica that is asked for
// results makes them as large as it likes.
constexpr std::uint64_t kUnconfirmedBytesMax = std::uint64_t{32} << 20;
// What earlier processes have sent may still be on its way, under timestamps behind those that are
// known. A reply names a timestamp alone, so none of theirs may be used again.
constexpr std::uint64_t kTimestampsApart = std::uint64_t{1} << 20;
// Far from where timestamps end, whatever an earlier process used.
constexpr std::uint64_t kTimestampFloorMax = UINT64_MAX / 2;

}  // namespace

void Client::Machine::on_frame(ByteView frame, TimePoint now, ClientActions& out) {
  ++counters_.frames_received;
  if (frame.size() > kFrameBytesMax) return drop(DropReason::bad_length);
  const auto header = peek_header(frame);
  if (header && header->type == MessageType::fetch_parts) return on_fetch_parts(frame, now, out);
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
    return drop(keys_.has_key(reply->replica) ? DropReason::bad_mac : DropReason::no_session_key);
  }
  if (reply->tentative && !settings_.tentative_execution) return drop(DropReason::not_wanted);
  learn_view(reply->replica, reply->view);
  if (reply->status == ReplyStatus::stale) return on_stale(session, index, *reply, now, out);
  const bool is_first = session.tally.replies()[reply->replica].vote == ReplyTally::Vote::none;
  if (!session.tally.add(reply->replica, *reply, wants_result(session, *reply)))
    return drop(DropReason::duplicate);
  // A faulty replica may go on with tentative ones, of one view after the other.
  if (is_first || !reply->tentative) session.heard_at = now;
  if (reply->full && reply->replica == session.replier) replier_.delivered(session.replier);
  evaluate(session, index, now, out);
}

// f+1 say so: a correct replica has executed a later request of an earlier process of this client,
// whose clock was ahead. All sessions go on behind what a correct one knows. This call may have
// been executed before that request, so only one that changes nothing is sent again.
void Client::Machine::on_stale(Session& session, std::uint32_t index, const ReplyMessage& reply,
                               TimePoint now, ClientActions& out) {
  drop(DropReason::stale_timestamp);
  if (session.kind != CallKind::ordered || reply.sigma <= session.timestamp) return;
  session.overtaken.resize(quorum_.replicas, 0);
  session.overtaken[reply.replica] = reply.sigma;
  std::vector<std::uint64_t> sorted = session.overtaken;
  std::nth_element(sorted.begin(), sorted.begin() + (quorum_.weak - 1), sorted.end(),
                   std::greater<>());
  const std::uint64_t known = sorted[quorum_.weak - 1];
  if (known == 0) return;
  const std::uint64_t apart = kTimestampsApart + settings_.first_timestamp % kTimestampsApart;
  timestamp_floor_ = std::max(timestamp_floor_, std::min(known, kTimestampFloorMax) + apart);
  if (!session.fell_back) {
    return fail(session, index, CallOutcome::no_agreement, now, out);
  }
  send(session, index, begun_again(session), now, out);
}

// One replica is asked for the result. All are when a quorum agrees on a digest, and nobody has
// sent what belongs to it: any may send that, and nothing else.
bool Client::Machine::wants_result(const Session& session, const ReplyMessage& reply) const {
  const bool is_replier = reply.replica == session.replier;
  if (!is_replier && !session.asked_for_result) return false;
  const ReplyTally::Reply* agreed = session.tally.agreed(need_of(session));
  if (agreed != nullptr && agreed->digest == reply.result_digest) return true;
  return is_replier && reply.result.size() + unconfirmed_bytes() <= kUnconfirmedBytesMax;
}

std::uint64_t Client::Machine::unconfirmed_bytes() const {
  std::uint64_t bytes = 0;
  for (const Session& session : sessions_)
    bytes += session.tally.result_bytes();
  return bytes;
}

void Client::Machine::on_fetch_parts(ByteView frame, TimePoint now, ClientActions& out) {
  const auto message = decode_fetch_parts(frame);
  if (!message) return drop(DropReason::malformed);
  if (!is_replica(message->replica, quorum_.replicas)) return drop(DropReason::unknown_sender);
  if (!keys_.verify(message->replica, sha256(message->content), message->authenticator)) {
    return drop(keys_.has_key(message->replica) ? DropReason::bad_mac : DropReason::no_session_key);
  }
  Served& served = served_[message->replica];
  if (now - served.since >= kReplicaServingTime) served = {0, now};
  for (const Digest& digest : message->parts) {
    if (served.bytes >= kReplicaServedBytesMax) return drop(DropReason::rate_limited);
    const auto part = find_part(digest);
    // The call may have ended. The other replicas have it then.
    if (!part) return drop(DropReason::not_wanted);
    served.bytes += std::max<std::uint64_t>(part->size(), kPartCostMin);
    ++counters_.parts_served;
    out.sends.push_back({message->replica, 0, encode_part_message(*part, keys_)});
  }
}

std::optional<Bytes> Client::Machine::find_part(const Digest& digest) const {
  for (const Session& session : sessions_) {
    if (session.body == nullptr) continue;
    if (auto part = session.body->part(digest)) return part;
  }
  return std::nullopt;
}

void Client::Machine::evaluate(Session& session, std::uint32_t index, TimePoint now,
                               ClientActions& out) {
  const ReplyTally::Need need = need_of(session);
  if (const ReplyTally::Reply* reply = session.tally.agreed(need)) {
    if (auto result = session.tally.take_result(*reply)) {
      return agree(session, index, *reply, std::move(*result), now, out);
    }
    // The one that was to send the result has sent something else, or nothing since before a
    // retransmission: ask all, without waiting.
    const bool replier_answered =
        session.tally.replies()[session.replier].vote != ReplyTally::Vote::none;
    const bool had_its_time = session.backoff > settings_.retransmit_after;
    if ((!replier_answered && !had_its_time) || session.asked_for_result) return;
    session.asked_for_result = true;
    replier_.let_down(session.replier);
    return retransmit(session, now, out);
  }
  if (session.tally.possible(need)) return;
  if (session.kind == CallKind::read_only) return fall_back(session, index, now, out);
  const bool unavailable = session.tally.lacks_only_available(need);
  fail(session, index, unavailable ? CallOutcome::unavailable : CallOutcome::no_agreement, now,
       out);
}

void Client::Machine::agree(Session& session, std::uint32_t index, const ReplyTally::Reply& reply,
                            Bytes result, TimePoint now, ClientActions& out) {
  ++counters_.agreed;
  // Votes on a read outside the order accuse nobody: each is of the state that its replica was in,
  // no reply says which one that was, and a correct replica may be some writes behind the quorum.
  if (session.kind == CallKind::ordered) {
    note_signature(session, now);
    session.settled = {session.call,
                       session.timestamp,
                       reply.sigma,
                       reply.digest,
                       session.tally.view_of(reply),
                       0,
                       0,
                       false};
    const auto& replies = session.tally.replies();
    for (NodeId replica = 0; replica < replies.size(); ++replica) {
      if (replies[replica].vote == ReplyTally::Vote::done) {
        compare(session.settled, replica, replies[replica], out);
      }
    }
  }
  const Sigma sigma = session.kind == CallKind::ordered ? reply.sigma : 0;
  out.completions.push_back({session.call, CallOutcome::agreed, std::move(result), sigma,
                             session.fell_back, reply.digest});
  free_session(session, index, now, out);
}

void Client::Machine::count_agreeing(Settled& settled, NodeId replica, ClientActions& out) {
  settled.agreeing |= std::uint64_t{1} << replica;
  const auto agreeing = static_cast<std::uint32_t>(std::popcount(settled.agreeing));
  if (settled.is_strong || agreeing + settings_.faults < quorum_.replicas) return;
  settled.is_strong = true;
  out.strong.push_back({settled.call});
}

// Nobody is accused of a tentative reply to what was not agreed on afterwards. But within one view
// nothing else can have been prepared at one number.
void Client::Machine::compare(Settled& settled, NodeId replica, const ReplyTally::Reply& reply,
                              ClientActions& out) {
  const std::uint64_t bit = std::uint64_t{1} << replica;
  const bool is_alike = reply.sigma == settled.sigma && reply.digest == settled.digest;
  const bool may_differ =
      reply.tentative && (settled.view != reply.view || reply.sigma >> 16 != settled.sigma >> 16);
  if (is_alike) return count_agreeing(settled, replica, out);
  if (may_differ || (settled.refuted & bit) != 0) return;
  settled.refuted |= bit;
  ++counters_.refuted;
  out.refuted.push_back({settled.call, replica, settled.digest, reply.digest});
}

void Client::Machine::on_late_reply(Session& session, const ReplyMessage& reply,
                                    ClientActions& out) {
  Settled& settled = session.settled;
  if (settled.timestamp == 0 || reply.timestamp != settled.timestamp) {
    return drop(DropReason::stale_timestamp);
  }
  if (reply.tentative && !settings_.tentative_execution) return drop(DropReason::not_wanted);
  // The usual end of every call: one more that agrees, or cannot tell. It is worth a MAC only until
  // n - f have agreed.
  const bool agrees = reply.sigma == settled.sigma && reply.result_digest == settled.digest;
  if (reply.status != ReplyStatus::done || (agrees && settled.is_strong)) return;
  if (!keys_.verify(reply.replica, sha256(reply.content), reply.tag)) {
    return drop(keys_.has_key(reply.replica) ? DropReason::bad_mac : DropReason::no_session_key);
  }
  ReplyTally::Reply late;
  late.tentative = reply.tentative;
  late.view = reply.view;
  late.digest = reply.result_digest;
  late.sigma = reply.sigma;
  compare(settled, reply.replica, late, out);
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
