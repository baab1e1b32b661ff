// `SlowPrimary` finds a primary that orders each request just within its time-out, and so slows the
// whole group down (Aardvark, NSDI 2009, section 4.3, has the attack).
//
// Requests that backups know of are late already: their clients have asked all replicas. Time in
// which the oldest of them waits beyond a grace uses an allowance up; other time gives a quarter of
// it back. Whether another primary would be faster, nobody can tell beforehand: the load may be
// honest. So the next ones are tried. When f+1 in a row are as slow, one of them was correct, and
// no more are tried for a while, which doubles.
//
// Deterministic; one thread.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.hpp"

namespace prophecy::pbft {

class SlowPrimary {
 public:
  // For a message delay or two between a backup and its primary.
  static constexpr Duration kGrace = milliseconds(25);
  // A primary that has lasted so long is not one of those that were tried in a row.
  static constexpr Duration kProven = seconds(10);
  static constexpr Duration kPause = minutes(1);
  static constexpr Duration kPauseMax = minutes(60);

  SlowPrimary(Duration allowance, std::uint32_t tries_max)
      : allowance_(allowance), tries_max_(tries_max) {}

  // After each event: since when the oldest request waits that its primary could have ordered.
  void note(std::optional<TimePoint> waiting_since, TimePoint now);
  // When the allowance will be used up, if that request goes on waiting; max() if it will not.
  [[nodiscard]] TimePoint due() const;
  // This replica asks for another primary for that reason.
  void on_blamed(TimePoint now);
  // No more are tried for now.
  [[nodiscard]] bool is_paused() const { return paused_until_.has_value(); }
  // So much of the time until now is no time of waiting: this replica did not run.
  void leave_out(Duration absent, TimePoint now);
  // Another view has begun.
  void restart(TimePoint now);

 private:
  [[nodiscard]] Duration level_at(TimePoint time) const;

  Duration allowance_;
  std::uint32_t tries_max_;
  TimePoint noted_at_{};
  Duration level_{};                        // used up when noted
  std::optional<TimePoint> waiting_since_;  // as noted
  std::uint32_t tries_ = 0;                 // primaries in a row
  std::optional<TimePoint> blamed_at_;      // the last of them
  std::optional<TimePoint> paused_until_;
  Duration pause_ = kPause;
};

}  // namespace prophecy::pbft
