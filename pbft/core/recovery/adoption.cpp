#include "pbft/core/recovery/adoption.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::pbft {
namespace {

constexpr Duration kTellEvery = milliseconds(250);
constexpr Duration kAnswerEvery = milliseconds(100);  // to one replica
constexpr Duration kHeardFor = seconds(5);
// So long nothing is executed or restored for an operator's sake.
constexpr Duration kHeldFor = minutes(10);

Error refused(std::string why) {
  return {ErrorKind::invalid, std::move(why)};
}

std::string name_of(NodeId replica) {
  return "replica " + std::to_string(replica);
}

AdoptionStatus::Says says(const PresentState* said) {
  if (said == nullptr) return AdoptionStatus::Says::nothing;
  if (said->has_state) return AdoptionStatus::Says::has_state;
  if (said->state == Digest{}) return AdoptionStatus::Says::no_state;
  return said->agrees ? AdoptionStatus::Says::agrees : AdoptionStatus::Says::tells;
}

}  // namespace

std::string_view to_string(AdoptionState state) {
  switch (state) {
    case AdoptionState::none:
      return "none";
    case AdoptionState::waiting:
      return "waiting";
    case AdoptionState::looking:
      return "looking";
    case AdoptionState::told:
      return "told";
    case AdoptionState::agreed:
      return "agreed";
    case AdoptionState::adopted:
      return "adopted";
  }
  UNREACHABLE();
}

std::string_view to_string(AdoptionStatus::Says says) {
  switch (says) {
    case AdoptionStatus::Says::nothing:
      return "nothing";
    case AdoptionStatus::Says::has_state:
      return "has-state";
    case AdoptionStatus::Says::no_state:
      return "no-state";
    case AdoptionStatus::Says::tells:
      return "tells";
    case AdoptionStatus::Says::agrees:
      return "agrees";
  }
  UNREACHABLE();
}

Adoption::Adoption(Context& context, const Log& log, const Checkpoints& checkpoints,
                   ExecutionStage& execution, Recovery& recovery)
    : context_(context),
      log_(log),
      checkpoints_(checkpoints),
      execution_(execution),
      recovery_(recovery),
      peers_(context.quorum.replicas) {}

// Whatever this replica has executed it knew of, or had as a state.
std::uint64_t Adoption::reach() const {
  return std::max({context_.journal.last(), log_.highest_known(), checkpoints_.stable_sequence(),
                   context_.progress.last_ordered});
}

Result<> Adoption::may_look() const {
  if (!execution_.is_unreliable()) {
    return refused("this replica has a state of its own, and needs no other");
  }
  if (context_.is_silent()) {
    return refused("this replica has lost its memory, and waits for the others' state");
  }
  if (!recovery_.knows_sessions()) {
    return refused(
        "this replica has lost the record of whose requests were executed: without it requests "
        "could be executed twice. Adopt the state at 2f+1 other replicas, or begin the group anew "
        "(--init, and another `founded`)");
  }
  return {};
}

Result<> Adoption::look(ReplicaActions& out) {
  if (state_ == AdoptionState::agreed || state_ == AdoptionState::adopted) return {};
  if (auto may = may_look(); !may) return may;
  if (state_ == AdoptionState::waiting || state_ == AdoptionState::looking) return {};
  order_.reset();
  begin_look(out);
  return {};
}

void Adoption::begin_look(ReplicaActions& out) {
  problem_.clear();
  until_ = context_.now + kHeldFor;
  state_ = AdoptionState::waiting;
  execution_.freeze();
  advance(out);
}

Result<> Adoption::adopt(const AdoptionOrder& order, ReplicaActions& out) {
  if (state_ == AdoptionState::agreed || state_ == AdoptionState::adopted) {
    if (order.says_the_same(*order_)) return {};
    return refused("this replica has agreed to adopt another state, or at another number");
  }
  // An operator may ask once more, behind the checkpoint that ended it.
  const bool is_over = state_ == AdoptionState::none && adopted_ && !execution_.is_unreliable();
  if (is_over && order.says_the_same(*adopted_)) return {};
  if (state_ != AdoptionState::told) {
    return refused("this replica has not looked at its present state; have it do so first");
  }
  if (auto checked = check(order); !checked) return checked;
  order_ = order;
  begin_look(out);  // it may have changed meanwhile
  return {};
}

Result<> Adoption::check(const AdoptionOrder& order) const {
  if (order.state != root_) {
    return refused("this replica's present state is another one: " + to_hex(root_));
  }
  std::uint64_t reach = reach_;
  std::uint32_t equal = 1;
  std::string missing;
  for (NodeId peer = 0; peer < context_.quorum.replicas; ++peer) {
    const bool is_left_out =
        std::find(order.except.begin(), order.except.end(), peer) != order.except.end();
    if (peer == context_.self || is_left_out) continue;
    const PresentState* said = said_by(peer);
    const bool is_equal = said != nullptr && !said->has_state && said->state == order.state;
    if (is_equal) {
      ++equal;
      if (!said->agrees) reach = std::max(reach, said->reach);
      continue;
    }
    if (says(said) == AdoptionStatus::Says::has_state) {
      return refused(name_of(peer) + " has a state of its own, which may hold more than this one");
    }
    if (says(said) == AdoptionStatus::Says::tells || says(said) == AdoptionStatus::Says::agrees) {
      return refused(name_of(peer) + " is in another state: " + to_hex(said->state));
    }
    missing += (missing.empty() ? "" : ", ") + name_of(peer);
  }
  if (equal < context_.quorum.stable) {
    return refused("only " + std::to_string(equal) + " of the " +
                   std::to_string(context_.quorum.stable) +
                   " replicas that are needed tell this state; nothing was told by " +
                   (missing.empty() ? "the others" : missing));
  }
  if (order.at < reach) {
    return refused("the state may hold the effects of batches up to " + std::to_string(reach));
  }
  if (order.at > checkpoints_.stable_sequence() + context_.settings.window) {
    return refused("the number is beyond the window");
  }
  return {};
}

void Adoption::on_looked(const Digest& state, ReplicaActions& out) {
  ASSERT(state_ == AdoptionState::looking);
  if (state == Digest{}) {
    return end("the present state cannot be told; the log says why");
  }
  const bool is_as_before = order_ && state == order_->state;
  if (order_ && !is_as_before) problem_ = "the state has changed since it was told";
  if (!order_) reach_ = reach();
  root_ = state;
  state_ = is_as_before ? AdoptionState::agreed : AdoptionState::told;
  if (!is_as_before) order_.reset();
  tell(out);
}

const PresentState* Adoption::said_by(NodeId replica) const {
  const Peer& peer = peers_.at(replica);
  const bool is_heard =
      peer.heard_at != TimePoint::min() && context_.now - peer.heard_at < kHeardFor;
  return is_heard ? &peer.said : nullptr;
}

bool Adoption::is_agreed() const {
  std::uint32_t agreeing = 1;
  for (NodeId peer = 0; peer < context_.quorum.replicas; ++peer) {
    const PresentState* said = peer == context_.self ? nullptr : said_by(peer);
    if (said != nullptr && said->agrees && said->state == order_->state &&
        said->reach == order_->at) {
      ++agreeing;
    }
  }
  return agreeing >= context_.quorum.stable;
}

bool Adoption::advance(ReplicaActions& out) {
  if (state_ == AdoptionState::none) return false;
  if (state_ == AdoptionState::adopted) {
    if (checkpoints_.stable_sequence() > order_->at || context_.now >= until_) end({});
    return false;
  }
  const bool is_replaced = !execution_.is_unreliable() || !execution_.is_frozen();
  // One that is looked at is waited for.
  if (state_ != AdoptionState::looking && (is_replaced || context_.now >= until_)) {
    end(is_replaced ? "the group has another state, which this replica takes"
                    : "nothing was adopted for ten minutes");
    return false;
  }
  if (state_ == AdoptionState::waiting && execution_.may_look()) {
    state_ = AdoptionState::looking;
    execution_.look(out);
  }
  if (state_ != AdoptionState::agreed || !is_agreed()) return false;
  // It may have been lost since this replica looked.
  if (context_.progress.last_ordered > order_->at || !recovery_.knows_sessions() ||
      !recovery_.adopt(order_->at, out)) {
    end("the record of whose requests were executed cannot be read");
    return false;
  }
  ++context_.counters.states_adopted;
  adopted_ = order_;
  state_ = AdoptionState::adopted;
  until_ = context_.now + kHeldFor;
  return true;
}

void Adoption::end(std::string why) {
  problem_ = std::move(why);
  state_ = AdoptionState::none;
  order_.reset();
  execution_.thaw();
}

PresentState Adoption::own() const {
  switch (state_) {
    case AdoptionState::told:
      return {.reach = reach_, .state = root_};
    case AdoptionState::agreed:
    case AdoptionState::adopted:
      return {.reach = order_->at, .state = order_->state, .agrees = true};
    default:
      return {.has_state = !execution_.is_unreliable()};
  }
}

void Adoption::tell(ReplicaActions& out) {
  told_at_ = context_.now;
  PresentState present = own();
  present.asks = true;
  context_.send_to_peers(encode_present(present, context_.keys), out);
}

bool Adoption::on_present(ByteView frame, ReplicaActions& out) {
  const auto message = decode_present(frame, context_.quorum.replicas);
  if (!message) {
    context_.drop(DropReason::malformed);
    return false;
  }
  if (!context_.is_peer(message->replica)) return false;
  if (!context_.is_authentic(message->replica, message->content, message->authenticator)) {
    return false;
  }
  Peer& peer = peers_[message->replica];
  peer.said = message->present;
  peer.heard_at = context_.now;
  const bool is_soon =
      peer.answered_at != TimePoint::min() && context_.now - peer.answered_at < kAnswerEvery;
  if (message->present.asks && !is_soon) {
    peer.answered_at = context_.now;
    out.sends.push_back({message->replica, 0, encode_present(own(), context_.keys)});
  }
  return true;
}

void Adoption::on_tick(ReplicaActions& out) {
  const bool tells = state_ == AdoptionState::told || state_ == AdoptionState::agreed ||
                     state_ == AdoptionState::adopted;
  if (tells && context_.now - told_at_ >= kTellEvery) tell(out);
}

TimePoint Adoption::next_timer() const {
  switch (state_) {
    case AdoptionState::none:
    case AdoptionState::looking:
      return TimePoint::max();
    case AdoptionState::waiting:
      return until_;
    case AdoptionState::told:
    case AdoptionState::agreed:
    case AdoptionState::adopted:
      return std::min(until_, told_at_ + kTellEvery);
  }
  UNREACHABLE();
}

AdoptionStatus Adoption::status() const {
  AdoptionStatus status;
  status.state = state_;
  status.problem = problem_;
  status.needed = context_.quorum.stable;
  for (NodeId replica = 0; replica < context_.quorum.replicas; ++replica) {
    const PresentState present = own();
    const PresentState* said = replica == context_.self ? &present : said_by(replica);
    AdoptionStatus::Member member{.replica = replica, .says = says(said)};
    if (said != nullptr) {
      member.state = said->state;
      member.at = said->reach;
      const bool is_possible =
          said->reach <= checkpoints_.stable_sequence() + context_.settings.window;
      if (said->state != Digest{} && said->state == root_ && is_possible) {
        status.at = std::max(status.at, said->reach);
      }
    }
    status.members.push_back(member);
  }
  return status;
}

}  // namespace prophecy::pbft
