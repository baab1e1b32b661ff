#include "pbft/core/recovery/state_fetch.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "pbft/wire/part.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft {
namespace {

constexpr std::size_t kStatePartsOnTheirWayMax = 32;
constexpr std::size_t kAskedOfOneMax = 8;  // in one frame: they come back to back
constexpr Duration kPatience = milliseconds(200);
// While the disk is behind with what has come, nothing more is asked for.
constexpr Duration kBacklogPause = milliseconds(20);
// Of one part, by each that should have it; of the replies for longer, as they are not asked for
// again.
constexpr std::uint32_t kRounds = 3;
constexpr std::uint32_t kReplyRounds = 6;

}  // namespace

std::size_t StateFetch::DigestHash::operator()(const Digest& digest) const {
  std::size_t hash = 0;
  std::memcpy(&hash, digest.data(), sizeof hash);
  return hash;
}

void StateFetch::begin(const CheckpointClaim& target, std::uint64_t holders, Trust trust,
                       ReplicaActions& out) {
  ASSERT(state_ == State::idle);
  trust_ = trust;
  late_ = 0;
  target_ = target;
  holders_ = holders & ~(std::uint64_t{1} << context_.self);
  state_ = State::fetching;
  heard_at_ = context_.now;
  is_at_replies_ = false;
  for (const Digest& root : {target.service, target.order}) {
    if (root != Digest{}) want(root, nullptr);
  }
  look_here();
  finish_if_done();
  if (state_ == State::fetching) ask(out);
}

bool StateFetch::is_stalled() const {
  return state_ == State::fetching && context_.now - heard_at_ >= kPatience;
}

void StateFetch::stop() {
  state_ = State::idle;
  forget_wanted();
  next_tick_ = TimePoint::max();
}

void StateFetch::forget_wanted() {
  wanted_.clear();
  here_.clear();
  to_ask_.clear();
  asked_.clear();
}

bool StateFetch::want(const Digest& digest, const Digest* parent) {
  if (trust_ == Trust::pins && parts_.is_pinned(digest) && hold(digest)) return true;
  const auto [place, is_new] = wanted_.try_emplace(digest);
  if (parent != nullptr) place->second.parents.push_back(*parent);
  if (is_new) (parts_.holds(digest) ? here_ : to_ask_).push_back(digest);
  return false;
}

void StateFetch::look_here() {
  while (!here_.empty() && state_ == State::fetching) {
    const Digest digest = here_.back();
    here_.pop_back();
    const auto bytes = parts_.read(digest);
    if (!bytes || !arrive(digest, *bytes)) to_ask_.push_back(digest);
  }
}

bool StateFetch::arrive(const Digest& digest, ByteView bytes) {
  const auto part = decode_part(bytes);
  if (!part) return false;
  wanted_.at(digest).bytes.assign(bytes.begin(), bytes.end());
  std::uint32_t missing = 0;
  for (const Digest& child : part->children) {
    if (!want(child, &digest)) ++missing;
  }
  wanted_.at(digest).children_missing = missing;
  if (missing == 0) keep(digest);
  return true;
}

void StateFetch::on_part(const Digest& digest, ByteView part, ReplicaActions& out) {
  if (state_ != State::fetching) return context_.drop(DropReason::not_wanted);
  const auto place = wanted_.find(digest);
  if (place == wanted_.end() || !place->second.bytes.empty()) {
    return context_.drop(DropReason::not_wanted);
  }
  std::erase(asked_, digest);
  std::erase(to_ask_, digest);
  if (!arrive(digest, part)) {
    // A correct replica's state is none of this.
    fail();
    return context_.drop(DropReason::malformed);
  }
  ++context_.counters.parts_fetched;
  heard_at_ = context_.now;
  look_here();
  finish_if_done();
  if (state_ == State::fetching) ask(out);
}

// And its parents, when it was the last that they lacked.
void StateFetch::keep(const Digest& digest) {
  std::vector<Digest> whole{digest};
  while (!whole.empty()) {
    const Digest next = whole.back();
    whole.pop_back();
    const auto place = wanted_.find(next);
    if (!parts_.keep(next, place->second.bytes)) return fail();
    if (!hold(next)) {
      parts_.discard(next);
      return fail();
    }
    for (const Digest& parent : place->second.parents) {
      Wanted& waiting = wanted_.at(parent);
      ASSERT(waiting.children_missing > 0);
      if (--waiting.children_missing == 0) whole.push_back(parent);
    }
    wanted_.erase(place);
  }
}

bool StateFetch::hold(const Digest& digest) {
  if (kept_.contains(digest)) return true;
  if (!parts_.pin(digest)) return false;
  kept_.insert(digest);
  return true;
}

void StateFetch::fail() {
  state_ = State::failed;
  next_tick_ = TimePoint::max();
}

void StateFetch::release_kept() {
  ASSERT(state_ == State::idle);
  for (const Digest& digest : std::exchange(kept_, {}))
    parts_.unpin(digest);
}

void StateFetch::give_up_part() {
  if (!is_at_replies_) return fail();
  target_.replies = {};
  forget_wanted();
  finish_if_done();
}

void StateFetch::want_replies() {
  is_at_replies_ = true;
  if (target_.replies == Digest{}) return;
  want(target_.replies, nullptr);
  look_here();
}

void StateFetch::finish_if_done() {
  if (state_ == State::fetching && wanted_.empty() && !is_at_replies_) want_replies();
  if (state_ == State::fetching && wanted_.empty()) {
    state_ = State::complete;
    next_tick_ = TimePoint::max();
  }
}

NodeId StateFetch::next_holder() {
  const std::uint64_t prompt = holders_ & ~late_;
  const std::uint64_t choice = prompt != 0 ? prompt : holders_;
  do {
    last_holder_ = (last_holder_ + 1) % context_.quorum.replicas;
  } while (((choice >> last_holder_) & 1) == 0);
  return last_holder_;
}

void StateFetch::ask(ReplicaActions& out) {
  if (holders_ == 0) return give_up_part();
  if (parts_.has_backlog()) {
    heard_at_ = context_.now;
    next_tick_ = context_.now + kBacklogPause;
    return;
  }
  const std::uint32_t rounds = is_at_replies_ ? kReplyRounds : kRounds;
  const std::uint32_t times_max = rounds * static_cast<std::uint32_t>(std::popcount(holders_));
  while (!to_ask_.empty() && asked_.size() < kStatePartsOnTheirWayMax) {
    const NodeId holder = next_holder();
    std::vector<Digest> parts;
    while (!to_ask_.empty() && parts.size() < kAskedOfOneMax &&
           asked_.size() < kStatePartsOnTheirWayMax) {
      const Digest digest = to_ask_.back();
      to_ask_.pop_back();
      Wanted& wanted = wanted_.at(digest);
      if (wanted.times_asked++ == times_max) return give_up_part();
      wanted.asked_at = context_.now;
      wanted.asked = holder;
      asked_.push_back(digest);
      parts.push_back(digest);
    }
    out.sends.push_back(
        {holder, 0, encode_fetch_parts(target_.sequence, parts, context_.keys), true});
  }
  next_tick_ = context_.now + kPatience;
  for (const Digest& digest : asked_)
    next_tick_ = std::min(next_tick_, *wanted_.at(digest).asked_at + kPatience);
}

void StateFetch::on_tick(ReplicaActions& out) {
  if (state_ != State::fetching || context_.now < next_tick_) return;
  std::erase_if(asked_, [&](const Digest& digest) {
    const bool late = *wanted_.at(digest).asked_at + kPatience <= context_.now;
    if (late) {
      to_ask_.push_back(digest);
      late_ |= std::uint64_t{1} << wanted_.at(digest).asked;
    }
    return late;
  });
  ask(out);
}

}  // namespace prophecy::pbft
