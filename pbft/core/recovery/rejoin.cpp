#include "pbft/core/recovery/rejoin.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {
namespace {

constexpr Duration kAskEvery = milliseconds(100);
// So long the others of a group that may be new are waited for: those that have come together first
// may be at work already, and should not be, for who comes then is taken for one that has lost its
// memory. More than f of them, and nobody could vote.
constexpr Duration kNewGroupWithin = seconds(2);
// A peer that loses its memory more often than that is playing: each time costs a write, and may
// cost a view. The pause doubles, so that views last longer than it takes to spoil each of them.
constexpr Duration kRebornEvery = seconds(1);
constexpr Duration kRebornPauseMax = minutes(10);
// Incarnations are milliseconds of a wall clock.
constexpr std::uint64_t kNanosecondsInOne = 1'000'000;
constexpr std::uint64_t kAheadMax = std::uint64_t{366} * 24 * 3600 * 1000;
// One that fell silent asks those whose pledge it lacks, so that they help it through its silence.
constexpr Duration kAskLateEvery = seconds(1);

}  // namespace

void Rejoin::begin(ReplicaActions& out) {
  ASSERT(context_.membership.incarnation > 0);
  context_.membership.silent_until = Context::kAsking;
  context_.membership.state_lost = true;
  context_.journal.membership(context_.membership, out);
  ask(out);
}

void Rejoin::ask(ReplicaActions& out) {
  context_.send_to_peers(encode_rejoin(context_.membership.incarnation, context_.keys), out);
  next_tick_ = context_.now + kAskEvery;
}

void Rejoin::ask_late(ReplicaActions& out) {
  Frame asks;  // signed once, for all of them
  for (NodeId to = 0; to < peers_.size(); ++to) {
    const auto& pledge = peers_[to].pledge;
    if (to == context_.self || (pledge && pledge->incarnation == context_.membership.incarnation)) {
      continue;
    }
    if (asks == nullptr) asks = encode_rejoin(context_.membership.incarnation, context_.keys);
    out.sends.push_back({to, 0, asks});
  }
  next_tick_ = asks == nullptr ? TimePoint::max() : context_.now + kAskLateEvery;
}

void Rejoin::on_tick(ReplicaActions& out) {
  if (context_.now < next_tick_) return;
  if (!is_asking()) {
    if (context_.is_silent()) return ask_late(out);
    next_tick_ = TimePoint::max();
    return;
  }
  raise_incarnation(out);
  ask(out);
  decide(out);
}

bool Rejoin::on_rejoin(ByteView frame, ReplicaActions& out) {
  const auto refuse = [&](DropReason reason) {
    context_.drop(reason);
    return false;
  };
  const auto message = decode_rejoin(frame);
  if (!message) return refuse(DropReason::malformed);
  if (!context_.is_peer(message->replica)) return false;
  Peer& peer = peers_[message->replica];
  Rebirth& known = context_.rebirths[message->replica];
  // Its own seal proves that it asks. What another one passes on is of use only where it is new.
  const bool is_new = message->incarnation > known.incarnation;
  if (message->replica != context_.relay && !is_new) return true;
  if (is_new) {
    // A signature is needed for what goes on record.
    if (!context_.is_signed_by(message->replica, sha256(message->content), message->signature)) {
      return refuse(DropReason::bad_signature);
    }
    // It could have no later life, not even one that begins with another disk and good intentions.
    if (is_too_far_ahead(message->incarnation)) {
      context_.drop(DropReason::outside_water_marks);
      return true;
    }
    if (peer.reborn_at && context_.now - *peer.reborn_at < peer.pause) {
      context_.drop(DropReason::rate_limited);
      return true;
    }
    const bool was_quiet = !peer.reborn_at || context_.now - *peer.reborn_at >= 2 * kRebornPauseMax;
    peer.pause = was_quiet ? kRebornEvery : std::min<Duration>(2 * peer.pause, kRebornPauseMax);
    peer.reborn_at = context_.now;
    known = {message->incarnation, context_.view};
    context_.journal.rebirth(message->replica, known, out);
    checkpoints_.begin_life(message->replica, known.incarnation);
    view_changer_.forget(message->replica);
    retransmission_.forget(message->replica);
    context_.claimed[message->replica] = 0;
    peer.answered_at.reset();
    // All are to know of it, or one could tell a part of them, and have the rest begin views that
    // this part rejects.
    context_.rejoins[message->replica] = std::make_shared<const Bytes>(frame.begin(), frame.end());
    context_.send_to_peers(context_.rejoins[message->replica], out);
    // Who has forgotten what it proposed can propose nothing for a while.
    if (message->replica == context_.primary() && context_.journal.has_promised()) {
      view_changer_.give_up(ViewChangeCause::primary_rejoins, out);
    }
  }
  if (!context_.journal.has_promised()) peer.fresh_for = known.incarnation;
  // Whoever asks too remembers nothing that would bind it, unless it is new.
  if (!is_asking() || !context_.journal.has_promised()) {
    // It comes from all that have heard of it.
    if (peer.answered_at && context_.now - *peer.answered_at < kAskEvery / 2) return true;
    peer.answered_at = context_.now;
    answer(message->replica, message->incarnation, out);
  }
  return true;
}

void Rejoin::answer(NodeId peer, std::uint64_t asked_as, ReplicaActions& out) {
  PledgeMessage pledge;
  pledge.to = peer;
  pledge.incarnation = context_.rebirths[peer].incarnation;
  // A life that begins with its clock set back was not heard of when this replica was fresh.
  pledge.fresh = peers_[peer].fresh_for == asked_as && pledge.incarnation == asked_as;
  pledge.view = context_.view;
  // And no less than before a restart, or a step back.
  pledge.checkpoint =
      std::max({checkpoints_.last_own(), checkpoints_.stable_sequence(), context_.reads_from});
  retransmission_.note_pledge(peer);
  out.sends.push_back({peer, 0, encode_pledge(pledge, context_.keys)});
}

bool Rejoin::on_pledge(ByteView frame, ReplicaActions& out) {
  const auto refuse = [&](DropReason reason) {
    context_.drop(reason);
    return false;
  };
  const auto message = decode_pledge(frame, context_.quorum.replicas);
  if (!message) return refuse(DropReason::malformed);
  if (!context_.is_peer(message->replica)) return false;
  if (!context_.is_authentic(message->replica, message->content, message->authenticator))
    return false;
  if (message->to != context_.self) return true;
  if (!is_asking()) {  // decided before
    if (context_.is_silent() && message->incarnation == context_.membership.incarnation) {
      peers_[message->replica].pledge =
          Pledge{message->incarnation, message->fresh, message->view, message->checkpoint};
    }
    return true;
  }
  context_.claimed[message->replica] = message->checkpoint;
  peers_[message->replica].pledge =
      Pledge{message->incarnation, message->fresh, message->view, message->checkpoint};
  decide(out);
  return true;
}

// Of f values at least one is a correct replica's, for this one is itself one of the f.
std::uint64_t Rejoin::vouched_incarnation() const {
  std::vector<std::uint64_t> values;
  for (const Peer& peer : peers_) {
    if (peer.pledge) values.push_back(peer.pledge->incarnation);
  }
  std::sort(values.rbegin(), values.rend());
  const std::size_t faults = context_.quorum.weak - 1;
  return values.size() >= faults ? values[faults - 1] : 0;
}

bool Rejoin::is_too_far_ahead(std::uint64_t incarnation) const {
  return incarnation > context_.inputs.wall_time() / kNanosecondsInOne + kAheadMax;
}

// The clock that it was made from may have been set back. Then all have to be asked anew. But those
// of a new group are not to be talked into it by one of them.
void Rejoin::raise_incarnation(ReplicaActions& out) {
  const std::uint64_t known = vouched_incarnation();
  std::uint64_t& incarnation = context_.membership.incarnation;
  const bool soon = raised_at_ && context_.now - *raised_at_ < kRebornEvery;
  if (known <= incarnation || is_too_far_ahead(known) || soon || heard().fresh >= needed()) return;
  raised_at_ = context_.now;
  incarnation = known + 1;
  enough_since_.reset();  // pledges for this one are still to come
  context_.journal.membership(context_.membership, out);
}

// Nobody can have a checkpoint beyond what a certificate proves, but for a window.
bool Rejoin::counts(const Peer& peer) const {
  const std::uint64_t proven = checkpoints_.stable_sequence() + context_.settings.window;
  return peer.pledge && peer.pledge->incarnation == context_.membership.incarnation &&
         peer.pledge->checkpoint <= proven;
}

Rejoin::Heard Rejoin::heard() const {
  Heard heard;
  for (NodeId id = 0; id < peers_.size(); ++id) {
    const Peer& peer = peers_[id];
    if (peer.fresh_for == context_.rebirths[id].incarnation) ++heard.told;
    if (!counts(peer)) continue;
    ++heard.pledged;
    if (peer.pledge->fresh) ++heard.fresh;
    heard.checkpoint = std::max(heard.checkpoint, peer.pledge->checkpoint);
  }
  return heard;
}

// Those that name this view, or one before it, take no view-change message of the earlier life for
// a later one. 2f of them leave 2f that might, f of them faulty, so no view beyond it can begin
// upon such a message; and this one is in no view before it. A greater view than that, or one that
// only faulty replicas name, waits for more pledges. Those of all correct replicas may be too few:
// some of these, fewer than f, may have asked for a later view, which the others do not ask for
// while nothing waits to be ordered. So after a while the view behind the last that is vouched for
// is taken. If no correct replica is there, this one votes after the next change of the view.
std::optional<std::uint64_t> Rejoin::resumed_view(bool may_wait) const {
  std::vector<std::uint64_t> views;
  for (const Peer& peer : peers_) {
    if (counts(peer)) views.push_back(peer.pledge->view);
  }
  if (views.size() < needed()) return std::nullopt;
  std::sort(views.begin(), views.end());
  const std::uint64_t view = views[needed() - 1];
  // At least one of the f greatest is a correct replica's, for this one is itself one of the f that
  // may be faulty.
  const std::uint32_t faults = context_.quorum.weak - 1;
  const std::uint64_t vouched = views[views.size() - faults];
  if (view > vouched + (may_wait ? 0 : 1)) return std::nullopt;
  return view;
}

void Rejoin::decide(ReplicaActions& out) {
  const Heard heard = this->heard();
  const std::uint32_t others = context_.quorum.replicas - 1;
  if (heard.pledged < needed()) return;
  // From when they have come together: so all begin at about the same time.
  if (!enough_since_) enough_since_ = context_.now;
  const bool may_wait = context_.now - *enough_since_ < kNewGroupWithin;
  if (heard.fresh >= needed()) {
    if (may_wait && (heard.pledged < others || heard.told < others)) return;
    begin_new_group(out);
  } else {
    if (may_wait && heard.fresh + (others - heard.pledged) >= needed()) return;
    const auto view = resumed_view(may_wait);
    if (!view) return;
    fall_silent(heard.checkpoint, *view, out);
  }
  next_tick_ = context_.is_silent() ? context_.now + kAskLateEvery : TimePoint::max();
  context_.journal.membership(context_.membership, out);
}

void Rejoin::begin_new_group(ReplicaActions& out) {
  context_.membership.silent_until = 0;
  context_.membership.state_lost = false;
  new_group_ = true;
  view_changer_.end_silence(out);
}

void Rejoin::fall_silent(std::uint64_t checkpoint, std::uint64_t view, ReplicaActions& out) {
  const ReplicaSettings& settings = context_.settings;
  // An interval more: the checkpoint at which it is a member again needs claims that count, and
  // what it claimed of a state before does not.
  context_.membership.silent_until =
      std::min(checkpoint + settings.window + settings.checkpoint_interval, kSequenceMax);
  // Nor has it been fresh, as it turns out.
  for (Peer& peer : peers_)
    peer.fresh_for.reset();
  context_.reads_from = context_.membership.silent_until;
  // This replica counts the view changes and the claims of its own earlier life no more either.
  context_.rebirths[context_.self] = {context_.membership.incarnation, view};
  checkpoints_.begin_life(context_.self, context_.membership.incarnation);
  context_.journal.rebirth(context_.self, context_.rebirths[context_.self], out);
  view_changer_.resume_in(view, out);
}

void Rejoin::advance(ReplicaActions& out) {
  const std::uint64_t until = context_.membership.silent_until;
  // A certificate may have come that a pledge waited for.
  if (is_asking()) return decide(out);
  if (until == 0 || checkpoints_.stable_sequence() < until) return;
  context_.membership.silent_until = 0;
  context_.journal.membership(context_.membership, out);
  view_changer_.end_silence(out);
}

}  // namespace prophecy::pbft
