#include "pbft/core/rejoin.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {
namespace {

constexpr Duration kAskEvery = milliseconds(200);
// So long the others of a group that may be new are waited for. Those that have come together first
// may be at work already.
constexpr Duration kNewGroupWithin = seconds(2);
// A peer that loses its memory more often than that is playing: each time costs a write.
constexpr Duration kRebornEvery = seconds(1);

}  // namespace

void Rejoin::begin(ReplicaActions& out) {
  ASSERT(context_.membership.incarnation > 0);
  context_.membership.silent_until = Context::kAsking;
  context_.membership.state_lost = true;
  context_.journal.membership(context_.membership, out);
  asking_since_ = context_.now;
  ask(out);
}

void Rejoin::ask(ReplicaActions& out) {
  context_.send_to_peers(encode_rejoin(context_.membership.incarnation, context_.keys), out);
  next_tick_ = context_.now + kAskEvery;
}

void Rejoin::on_tick(ReplicaActions& out) {
  if (!is_asking() || context_.now < next_tick_) return;
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
  if (!is_replica(message->replica, context_.quorum.replicas) ||
      message->replica == context_.self) {
    return refuse(DropReason::unknown_sender);
  }
  if (!context_.keys.verify_signature(message->replica, sha256(message->content),
                                      message->signature)) {
    return refuse(DropReason::bad_signature);
  }
  Rebirth& known = context_.rebirths[message->replica];
  if (message->incarnation > known.incarnation) {
    auto& reborn_at = reborn_at_[message->replica];
    if (reborn_at && context_.now - *reborn_at < kRebornEvery) {
      context_.drop(DropReason::rate_limited);
      return true;
    }
    reborn_at = context_.now;
    known = {message->incarnation, context_.view};
    context_.journal.rebirth(message->replica, known, out);
    view_changer_.forget(message->replica);
    // Who has forgotten what it proposed can propose nothing for a while.
    if (message->replica == context_.primary() && context_.journal.has_promised()) {
      view_changer_.give_up(ViewChangeCause::primary_rejoins, out);
    }
  }
  // Whoever asks too remembers nothing that would bind it, unless it is new.
  if (!is_asking() || !context_.journal.has_promised()) answer(message->replica, out);
  return true;
}

void Rejoin::answer(NodeId peer, ReplicaActions& out) const {
  PledgeMessage pledge;
  pledge.to = peer;
  pledge.incarnation = context_.rebirths[peer].incarnation;
  pledge.fresh = !context_.journal.has_promised();
  pledge.view = context_.view;
  pledge.checkpoint = std::max(checkpoints_.last_own(), checkpoints_.stable_sequence());
  out.sends.push_back({peer, 0, encode_pledge(pledge, context_.keys)});
}

bool Rejoin::on_pledge(ByteView frame, ReplicaActions& out) {
  const auto refuse = [&](DropReason reason) {
    context_.drop(reason);
    return false;
  };
  const auto message = decode_pledge(frame, context_.quorum.replicas);
  if (!message) return refuse(DropReason::malformed);
  if (!is_replica(message->replica, context_.quorum.replicas) ||
      message->replica == context_.self) {
    return refuse(DropReason::unknown_sender);
  }
  if (!context_.keys.verify_authenticator(message->replica, sha256(message->content),
                                          message->authenticator)) {
    return refuse(context_.mac_failure(message->replica));
  }
  if (!is_asking() || message->to != context_.self) return true;  // answered before
  std::uint64_t& incarnation = context_.membership.incarnation;
  if (message->incarnation > incarnation && message->incarnation < UINT64_MAX) {
    // The clock it was made from has been set back. All have to be asked anew.
    incarnation = message->incarnation + 1;
    std::fill(pledges_.begin(), pledges_.end(), std::nullopt);
    context_.journal.membership(context_.membership, out);
    ask(out);
  } else if (message->incarnation == incarnation) {
    // It was fresh after this replica's loss: what it says since does not change that.
    auto& known = pledges_[message->replica];
    const bool fresh = message->fresh || (known && known->fresh);
    known = Pledge{fresh, message->view, message->checkpoint};
    decide(out);
  }
  return true;
}

void Rejoin::decide(ReplicaActions& out) {
  std::uint32_t pledged = 0;
  std::uint32_t fresh = 0;
  Pledge bounds;
  for (const auto& pledge : pledges_) {
    if (!pledge) continue;
    ++pledged;
    if (pledge->fresh) ++fresh;
    bounds.view = std::max(bounds.view, pledge->view);
    bounds.checkpoint = std::max(bounds.checkpoint, pledge->checkpoint);
  }
  const std::uint32_t needed = context_.quorum.weak - 1 + context_.quorum.weak - 1;  // 2f
  if (fresh >= needed) {
    context_.membership.silent_until = 0;
    context_.membership.state_lost = false;
    new_group_ = true;
  } else if (pledged >= needed && pledged > fresh) {
    const std::uint32_t to_come = context_.quorum.replicas - 1 - pledged;
    if (fresh + to_come >= needed && context_.now - asking_since_ < kNewGroupWithin) return;
    context_.membership.silent_until =
        std::min(bounds.checkpoint + context_.settings.window, kSequenceMax);
    context_.reads_from = context_.membership.silent_until;
    view_changer_.resume_in(bounds.view, out);
  } else {
    return;
  }
  next_tick_ = TimePoint::max();
  context_.journal.membership(context_.membership, out);
}

void Rejoin::advance(ReplicaActions& out) {
  const std::uint64_t until = context_.membership.silent_until;
  if (until == 0 || is_asking() || checkpoints_.stable_sequence() < until) return;
  context_.membership.silent_until = 0;
  context_.journal.membership(context_.membership, out);
}

}  // namespace prophecy::pbft
