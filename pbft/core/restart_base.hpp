// The checkpoint that a restart of this replica begins from (its base), and how the next one takes
// its place:
//
//   resting --- a newer one is here and proven ---> flushing --- its parts are on the disk -->
//   resting
//                                                      |  ^
//                              the disk has refused    v  |  a while later
//                                                     refused
//
// Where there is no base, the first one is flushed at once.
#pragma once

#include <cstdint>
#include <optional>

#include "pbft/core/checkpoints.hpp"
#include "pbft/core/context.hpp"
#include "pbft/core/snapshots.hpp"

namespace prophecy::pbft {

class RestartBase {
 public:
  RestartBase(Context& context, Snapshots& snapshots) : context_(context), snapshots_(snapshots) {}

  // The journal names it.
  void resume_from(const CheckpointClaim& base) { base_ = base.sequence; }
  [[nodiscard]] bool has() const { return base_.has_value(); }
  // 0 when there is none.
  [[nodiscard]] std::uint64_t sequence() const { return base_.value_or(0); }
  // Until it is certain that the disk names the base, a restart may begin from the one before it.
  [[nodiscard]] std::uint64_t before() const { return before_; }
  // 0 when none is.
  [[nodiscard]] std::uint64_t flushing() const { return flushing_ ? flushing_->sequence : 0; }
  [[nodiscard]] bool is_flushing() const { return state_ == State::flushing; }

  // It has turned out to be wrong: this replica has no state of its own to begin from.
  void give_up(ReplicaActions& out);
  // After every event. `proven`: the newest checkpoint up to this number may become the base.
  void advance(std::uint64_t proven, ReplicaActions& out);
  void on_parts_flushed(bool done, ReplicaActions& out);

 private:
  enum class State : std::uint8_t { resting, flushing, refused };

  Context& context_;
  Snapshots& snapshots_;
  State state_ = State::resting;
  std::optional<std::uint64_t> base_;
  std::uint64_t before_ = 0;
  std::optional<CheckpointClaim> flushing_;  // in this state
  TimePoint flushed_at_{};
};

}  // namespace prophecy::pbft
