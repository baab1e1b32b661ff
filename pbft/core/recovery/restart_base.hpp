// The checkpoint that a restart of this replica begins from (its base), and how the next one takes
// its place:
//
//   resting --- a newer one is here and proven ---> flushing --- its parts are on the disk --->
//   resting
//
//   flushing --- the disk refuses ---> refused --- a while later ---> flushing_again
//   flushing_again --- as flushing
//
// A replica that cannot tell the state of its service, which is well, keeps its last base with a
// state for as long as the record behind it is kept. Then its newest stable checkpoint becomes the
// base, without a state: a restart knows from it whose requests were executed, leaves the service
// as it finds it, and waits for the group's state, or for an operator (adoption.hpp).
//
// Where there is no base, the first one is flushed at once. Normally the group goes no further than
// a restart could remember (docs/storage.md), and waits for the disk; but not for one that refuses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "pbft/core/execution/snapshots.hpp"
#include "pbft/core/state/checkpoints.hpp"
#include "pbft/core/state/context.hpp"

namespace prophecy::pbft {

class RestartBase {
 public:
  RestartBase(Context& context, Snapshots& snapshots) : context_(context), snapshots_(snapshots) {}

  // The journal names it.
  void resume_from(const CheckpointClaim& base);
  [[nodiscard]] bool has() const { return base_.has_value(); }
  // 0 when there is none.
  [[nodiscard]] std::uint64_t sequence() const { return base_.value_or(0); }
  // Until it is certain that the disk names the base, a restart may begin from the one before it.
  [[nodiscard]] std::uint64_t before() const { return before_; }
  // 0 when none is.
  [[nodiscard]] std::uint64_t flushing() const { return flushing_ ? flushing_->sequence : 0; }
  [[nodiscard]] bool is_flushing() const {
    return state_ == State::flushing || state_ == State::flushing_again;
  }
  // The disk takes no newer one: what a restart begins from is not to be waited for.
  [[nodiscard]] bool is_refused() const {
    return state_ == State::refused || state_ == State::flushing_again;
  }

  // It has turned out to be wrong: this replica has no state of its own to begin from. Its parts
  // stay until it is certain that the disk does not name them any more.
  void give_up(ReplicaActions& out);
  // After every event. `proven`: the newest checkpoint up to this number may become the base. When
  // it is urgent, the record grows too long. When it is awaited, something else goes once no
  // restart begins before the base.
  void advance(std::uint64_t proven, bool is_urgent, bool is_awaited, ReplicaActions& out);
  // The record gets too long, and the state of the service cannot be told: the checkpoint with this
  // number becomes the base. False when that is not to be had.
  [[nodiscard]] bool advance_untold(std::uint64_t stable, ReplicaActions& out);
  // A restart does not go back to the base's state.
  void forget_state(ReplicaActions& out);
  void on_parts_flushed(bool done, ReplicaActions& out);

 private:
  enum class State : std::uint8_t { resting, flushing, refused, flushing_again };

  void flush(const std::optional<CheckpointClaim>& claim, ReplicaActions& out);
  void hold(CheckpointClaim claim);
  void hold_only(std::size_t newest);

  Context& context_;
  Snapshots& snapshots_;
  State state_ = State::resting;
  std::optional<std::uint64_t> base_;
  std::uint64_t before_ = 0;
  bool has_state_ = true;                    // the base, on the disk
  std::optional<CheckpointClaim> flushing_;  // while it is; none: the base's record is waited for
  // The checkpoints that the disk may name, the base last. They are pinned here, since another
  // state may take their place at their number.
  std::deque<CheckpointClaim> named_;
  std::deque<CheckpointClaim> given_up_;  // and still pinned
  std::size_t to_release_ = 0;            // of these, when the flush has ended
  TimePoint flushed_at_{};
};

}  // namespace prophecy::pbft
