#include "pbft/core/recovery/restart_base.hpp"

#include <utility>

#include "base/assert.hpp"

namespace prophecy::pbft {
namespace {

constexpr Duration kFlushEvery = seconds(1);

}  // namespace

void RestartBase::resume_from(const CheckpointClaim& base) {
  base_ = base.sequence;
  has_state_ = base.service != Digest{};
  hold(base);
}

// The disk may have lost parts of its state. Whose requests were executed then counts all the same.
void RestartBase::hold(CheckpointClaim claim) {
  if (!snapshots_.pin(claim)) {
    claim.service = {};
    if (!snapshots_.pin(claim)) return;
  }
  named_.push_back(claim);
}

void RestartBase::hold_only(std::size_t newest) {
  for (; named_.size() > newest; named_.pop_front())
    snapshots_.unpin(named_.front());
}

void RestartBase::give_up(ReplicaActions& out) {
  given_up_.insert(given_up_.end(), named_.begin(), named_.end());
  named_.clear();
  base_.reset();
  context_.membership.state_lost = true;
  context_.journal.membership(context_.membership, out);
  context_.journal.no_base(out);
}

// The journal may forget what is up to it only once the disk has all its parts.
void RestartBase::advance(std::uint64_t proven, bool is_urgent, bool is_awaited,
                          ReplicaActions& out) {
  if (is_flushing()) return;
  const bool soon = context_.now - flushed_at_ < kFlushEvery;
  // To a checkpoint without the service's state there is no way back.
  const CheckpointClaim* newest = snapshots_.newest_whole_up_to(proven);
  const bool is_named = newest != nullptr && !named_.empty() && *newest == named_.back();
  if (newest == nullptr || (base_ && newest->sequence < *base_) || is_named) {
    if (is_awaited && base_ && *base_ != before_ && !soon) flush(std::nullopt, out);
    return;
  }
  // The log keeps what is behind the base, and is not to fill up with it.
  const std::uint64_t behind = newest->sequence - base_.value_or(0);
  const bool is_far =
      is_urgent || behind >= (context_.settings.window + context_.settings.retained_batches) / 4;
  if (soon && (state_ == State::refused || (base_ && !is_far))) return;
  flush(*newest, out);
}

void RestartBase::flush(const std::optional<CheckpointClaim>& claim, ReplicaActions& out) {
  flushed_at_ = context_.now;
  state_ = is_refused() ? State::flushing_again : State::flushing;
  flushing_ = claim;
  to_release_ = given_up_.size();
  out.flush_parts = true;
}

bool RestartBase::advance_untold(std::uint64_t stable, ReplicaActions& out) {
  if (is_flushing()) return true;
  const CheckpointClaim* claim = snapshots_.find(stable);
  const bool soon = state_ == State::refused && context_.now - flushed_at_ < kFlushEvery;
  if (claim == nullptr || soon || !base_ || *base_ >= stable) return false;
  flush(*claim, out);
  return true;
}

void RestartBase::forget_state(ReplicaActions& out) {
  if (!base_ || !has_state_ || named_.empty()) return;
  has_state_ = false;
  const CheckpointClaim& claim = named_.back();
  ASSERT(claim.sequence == *base_);
  context_.journal.base({claim.sequence, claim.order, claim.replies, {}}, out);
}

void RestartBase::on_parts_flushed(bool done, ReplicaActions& out) {
  state_ = done ? State::resting : State::refused;
  const auto flushed = std::exchange(flushing_, std::nullopt);
  // A flush begins once all earlier records last.
  for (; to_release_ > 0; --to_release_) {
    snapshots_.unpin(given_up_.front());
    given_up_.pop_front();
  }
  if (done && !flushed) {
    before_ = base_.value_or(0);
    hold_only(1);
  }
  if (!flushed || !done) return;
  // Another state may have taken its place at its number meanwhile, and its parts be gone.
  const CheckpointClaim* now = snapshots_.find(flushed->sequence);
  if (now == nullptr || *now != *flushed) return;
  before_ = base_.value_or(0);
  base_ = flushed->sequence;
  has_state_ = flushed->service != Digest{};
  hold(*flushed);
  hold_only(2);
  if (context_.membership.state_lost) {
    context_.membership.state_lost = false;
    context_.journal.membership(context_.membership, out);
  }
  context_.journal.base(*flushed, out);
}

}  // namespace prophecy::pbft
