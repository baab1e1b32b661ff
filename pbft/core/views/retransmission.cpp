#include "pbft/core/views/retransmission.hpp"

#include <algorithm>

#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {
namespace {

// What one Status may cause to be sent.
constexpr std::size_t kFramesServedMax = 256;
constexpr std::size_t kBytesServedMax = std::size_t{2} << 20;
// A peer that has been sent so much more than what has settled there since waits twice as long for
// the next, and so on: it loses everything, or pretends to.
constexpr std::uint64_t kBytesUnmovedStep = std::uint64_t{256} << 10;
// Every peer sends such a proposal: another round costs more, where one does not want to send it.
constexpr std::size_t kSmallContentBytes = 4096;
// So long after it was helped through its silence a peer is not helped through another one.
constexpr Duration kCarryingPause = seconds(2);

// Without a pattern (the finalizer of splitmix64).
std::uint64_t mixed(std::uint64_t counter) {
  counter += 0x9e3779b97f4a7c15;
  counter = (counter ^ (counter >> 30)) * 0xbf58476d1ce4e5b9;
  counter = (counter ^ (counter >> 27)) * 0x94d049bb133111eb;
  return counter ^ (counter >> 31);
}

}  // namespace

Retransmission::Retransmission(Context& context, Log& log, const Checkpoints& checkpoints,
                               const Agreement& agreement, ViewChanger& view_changer,
                               Standings& standings)
    : context_(context),
      log_(log),
      checkpoints_(checkpoints),
      agreement_(agreement),
      view_changer_(view_changer),
      standings_(standings),
      peers_(context.quorum.replicas) {}

// In a group that goes on, a stable checkpoint tells it long before the next Status of a peer.
bool Retransmission::lagging() const {
  if (checkpoints_.stable_sequence() > context_.progress.last_ordered) return true;
  return std::any_of(peers_.begin(), peers_.end(), [&](const Peer& peer) {
    return peer.highest_seen > context_.progress.last_ordered;
  });
}

bool Retransmission::outstanding() const {
  // The others may agree on what this replica has refused, for instance because one MAC is damaged,
  // or has not got.
  const std::uint64_t proposed =
      std::max({log_.highest_proposed(), context_.refused_until, context_.voted_until});
  return context_.state == ReplicaState::changing_view || proposed > agreement_.settled() ||
         lagging() || !checkpoints_.is_proven() ||
         checkpoints_.last_own() > checkpoints_.stable_sequence();
}

// Progress counts from when something began to be outstanding: what was ordered before that, since
// the last tick, does not put a Status off.
void Retransmission::arm(TimePoint now) {
  if (!started_ || !outstanding()) return outstanding_since_.reset();
  if (!outstanding_since_) {
    outstanding_since_ = now;
    note_progress();
  }
  next_tick_ = std::min(next_tick_, now + context_.settings.status_interval);
}

void Retransmission::note_progress() {
  ordered_then_ = context_.progress.last_ordered;
  stable_then_ = checkpoints_.stable_sequence();
  settled_then_ = agreement_.settled();
}

bool Retransmission::is_stuck() const {
  // Alone in a later view, it gets on by what others have decided, and they send that when asked.
  if (context_.state == ReplicaState::changing_view) return true;
  return ordered_then_ == context_.progress.last_ordered &&
         stable_then_ == checkpoints_.stable_sequence() && settled_then_ == agreement_.settled();
}

void Retransmission::on_tick(TimePoint now, ReplicaActions& out) {
  if (now < next_tick_) return;
  const bool first = !started_;
  started_ = true;
  const TimePoint due = outstanding_since_.value_or(now) + context_.settings.status_interval;
  const bool is_due = outstanding() && now >= due;
  if (first || (outstanding() && lagging()) || (is_due && is_stuck()) || now >= heartbeat_at_) {
    send_status(out);
    heartbeat_at_ = now + context_.settings.heartbeat_interval;
  }
  if (is_due || !outstanding_since_) note_progress();
  const TimePoint next = now < due ? due : now + context_.settings.status_interval;
  next_tick_ = outstanding() ? next : heartbeat_at_;
}

void Retransmission::send_status(ReplicaActions& out) {
  std::vector<std::uint8_t> slots;
  const std::uint64_t first = agreement_.settled() + 1;
  const std::uint64_t end = std::min(log_.highest_proposed() + 1, first + kStatusSlotsMax);
  for (std::uint64_t sequence = first; sequence < end; ++sequence) {
    const Slot* slot = log_.find(sequence);
    const SlotPhase phase = slot != nullptr ? slot->phase : SlotPhase::empty;
    std::uint8_t bits = 0;
    const bool certified = phase == SlotPhase::certified;
    if (phase >= SlotPhase::pre_prepared) bits |= kHasPrePrepare;
    if (certified || phase >= SlotPhase::prepared) bits |= kHasPrepared;
    if (certified || phase >= SlotPhase::committed) bits |= kHasCommitted;
    slots.push_back(bits);
  }
  StatusMessage status;
  status.view = context_.view;
  status.changing_view = context_.state == ReplicaState::changing_view;
  status.first_retained = log_.first_retained();
  status.last_ordered = context_.progress.last_ordered;
  // Others show their signatures of what this replica has not got.
  const bool lacks_claims = !checkpoints_.is_proven() || context_.lacks_claims;
  status.last_stable = checkpoints_.stable_sequence() - (lacks_claims ? 1 : 0);
  status.counter = context_.membership.boot << 32 | ++counter_;
  status.silent_until = std::min(context_.membership.silent_until, kSequenceMax);
  status.settled = agreement_.settled();
  status.slots = slots;
  context_.send_to_peers(encode_status(status, context_.keys), out);
  ++context_.counters.status_sent;
}

bool Retransmission::on_status(ByteView frame, TimePoint now, ReplicaActions& out) {
  const auto status = decode_status(frame, context_.quorum.replicas);
  if (!status) {
    context_.drop(DropReason::malformed);
    return false;
  }
  if (!context_.is_peer(status->replica)) return false;
  if (!context_.is_authentic(status->replica, status->content, status->authenticator)) return false;
  Peer& peer = peers_[status->replica];
  // Late, or repeated by somebody: it would be served in place of a newer one. But a peer that has
  // gone too far with its counter, and has nothing greater to say, is not to be deaf for ever.
  if (status->counter <= peer.counter &&
      now - peer.counted_at < 2 * context_.settings.heartbeat_interval) {
    context_.drop(DropReason::duplicate);
    return true;
  }
  peer.counter = status->counter;
  peer.counted_at = now;
  standings_.on_status(*status);
  learn(*status);
  forgive(peer, status->settled);
  if (now < may_serve_at(peer)) {
    context_.drop(DropReason::rate_limited);
    return true;
  }
  peer.served_at = now;
  serve(*status, out);
  return true;
}

TimePoint Retransmission::may_serve_at(const Peer& peer) const {
  const auto steps = static_cast<std::int64_t>(
      std::min<std::uint64_t>(1 + peer.bytes_unmoved / kBytesUnmovedStep, 1000));
  return peer.served_at + std::min(steps * context_.settings.status_interval / 2,
                                   context_.settings.heartbeat_interval);
}

// What has settled has arrived. Of one that only says so, this is forgiven once for each batch.
void Retransmission::forgive(Peer& peer, std::uint64_t settled) const {
  const std::uint64_t last = std::min(settled, log_.highest_known());
  for (std::uint64_t sequence = std::max(peer.settled + 1, log_.first_retained());
       sequence <= last && peer.bytes_unmoved > 0; ++sequence) {
    const Slot* slot = log_.find(sequence);
    if (slot == nullptr || slot->pre_prepare == nullptr) continue;
    peer.bytes_unmoved -= std::min<std::uint64_t>(peer.bytes_unmoved, slot->pre_prepare->size());
  }
  peer.settled = std::max(peer.settled, last);
}

void Retransmission::learn(const StatusMessage& status) {
  Peer& peer = peers_[status.replica];
  peer.first_retained = status.first_retained;
  peer.last_ordered = status.last_ordered;
  view_changer_.note_silence(status.replica, status.silent_until > 0);
  context_.claimed[status.replica] = std::max(status.last_ordered, status.last_stable);
  std::uint64_t highest = status.last_ordered;
  for (std::size_t i = 0; i < status.slots.size(); ++i) {
    if (status.slots[i] != 0) highest = std::max(highest, status.settled + 1 + i);
  }
  // The latest claim, not the greatest: one lie is not to be believed for ever.
  peer.highest_seen = highest;
  const bool is_of_primary =
      status.replica == context_.primary() && status.view == context_.view && !status.changing_view;
  if (is_of_primary) context_.named_by_primary = std::max(context_.named_by_primary, highest);

  // It is work for all: so a bound counts only of those that this replica has pledged to, and the
  // first one that they name in their incarnation. No replica that follows the protocol can need
  // more than two windows and an interval; one that does not know its bound yet says more.
  const std::uint64_t stable = checkpoints_.stable_sequence();
  // It may be an old Status, repeated by somebody: what has begun is carried through.
  if (status.silent_until <= stable) return;
  const std::uint64_t at_most =
      stable + 2 * context_.settings.window + context_.settings.checkpoint_interval;
  const bool is_soon =
      peer.carried_at != TimePoint::min() && context_.now - peer.carried_at < kCarryingPause;
  if (!peer.has_pledge || peer.is_carried || is_soon || status.silent_until > at_most) return;
  peer.is_carried = true;
  peer.carried_at = context_.now;
  peer.silent_until = status.silent_until;
}

// But not when it was helped last.
void Retransmission::forget(NodeId peer) {
  Peer fresh;
  fresh.carried_at = peers_[peer].carried_at;
  peers_[peer] = fresh;
}

// Each replica sends its own votes only, so f+1 that no longer have a batch leave too few. One of
// them is correct; nobody can be talked into this by the faulty.
bool Retransmission::is_beyond_help() const {
  const auto without = std::count_if(peers_.begin(), peers_.end(), [&](const Peer& p) {
    return p.first_retained > context_.progress.last_ordered + 1;
  });
  return without >= static_cast<std::ptrdiff_t>(context_.quorum.weak);
}

std::uint64_t Retransmission::awaited_by_silent() const {
  std::uint64_t awaited = 0;
  for (const Peer& peer : peers_)
    awaited = std::max(awaited, peer.silent_until);
  return awaited;
}

// With MACs of today if it is this replica's own, since it has to be believed; of another's only
// the content is worth anything, and it is sealed.
Frame Retransmission::renewed(const Frame& pre_prepare, const Digest& batch) const {
  if (pre_prepare == nullptr) return nullptr;
  const auto head = decode_pre_prepare_head(*pre_prepare);
  if (!head || head->primary != context_.self) return pre_prepare;
  return renew_pre_prepare(*pre_prepare, batch, context_.keys);
}

// The primary sends its proposal; the others take turns, in case it does not want to. Those that
// cannot help have none: the primary among them, and the peer itself. Turns go by the batch and by
// the Status, which all others have got: one of them sends it.
bool Retransmission::is_own_turn(NodeId peer, std::uint64_t turn) const {
  const NodeId primary = context_.primary();
  if (context_.self == primary) return true;
  NodeId place = 0;
  NodeId others = 0;
  for (NodeId id = 0; id < context_.quorum.replicas; ++id) {
    if (id == context_.self) place = others;
    if (id != primary && id != peer) ++others;
  }
  return turn % others == place;
}

void Retransmission::serve(const StatusMessage& status, ReplicaActions& out) {
  std::vector<Frame> frames;
  std::size_t bytes = 0;
  const auto add = [&](const Frame& frame) {
    if (frame == nullptr) return;
    bytes += frame->size();
    frames.push_back(frame);
  };
  // The rate limit then has a replica serve each second Status, so that it would have its turn
  // always, or never.
  const bool is_limited = peers_[status.replica].bytes_unmoved >= kBytesUnmovedStep;
  const std::uint64_t turn = is_limited ? mixed(status.counter) : status.counter;
  view_changer_.serve(status.replica, status.view, status.changing_view, out);
  checkpoints_.frames_above(status.last_stable, frames);
  for (std::uint64_t sequence = std::max(status.settled + 1, log_.first_retained());
       sequence <= log_.highest_known(); ++sequence) {
    if (frames.size() >= kFramesServedMax || bytes >= kBytesServedMax) break;
    const Slot* slot = log_.find(sequence);
    if (slot == nullptr) continue;
    const std::uint64_t place = sequence - status.settled - 1;
    const std::uint8_t has = place < status.slots.size() ? status.slots[place] : 0;
    // Executed here or not: behind an earlier state that was restored, with batches missing in
    // between, others may need what only this replica and they know. A later view may have begun
    // with another batch here: the decided one is the one to name.
    const bool decided = slot->decided.has_value();
    const Digest& batch = decided ? *slot->decided : slot->batch;
    // Before the content: a peer alone in a later view takes only what f+1 have decided.
    if (decided && (has & kHasCommitted) == 0) {
      add(encode_vote(MessageType::decision, 0, sequence, batch, context_.keys));
    }
    if ((has & kHasPrePrepare) == 0) {
      const bool is_small =
          slot->pre_prepare != nullptr && slot->pre_prepare->size() <= kSmallContentBytes;
      if (is_small || is_own_turn(status.replica, sequence + turn)) {
        // A decided batch is kept; or the view agrees on it once more, and waits for its bodies.
        const Frame kept = decided ? log_.content_of(*slot, batch) : nullptr;
        const bool is_of_view = kept == nullptr && slot->batch == batch;
        add(renewed(is_of_view ? slot->pre_prepare : kept, batch));
      }
    }
    // MACs are made anew: session keys may have changed since.
    if ((has & kHasPrepared) == 0 && slot->own_prepare) {
      add(renew_vote(*slot->own_prepare, context_.keys));
    }
    if ((has & kHasCommitted) == 0 && slot->own_commit) {
      add(renew_vote(*slot->own_commit, context_.keys));
    }
  }
  peers_[status.replica].bytes_unmoved += bytes;
  for (Frame& frame : frames)
    out.sends.push_back({status.replica, 0, std::move(frame)});
  context_.counters.frames_repeated += frames.size();
}

}  // namespace prophecy::pbft
