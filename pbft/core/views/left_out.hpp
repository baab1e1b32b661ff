// `LeftOut` finds a primary that shows its proposals to a part of the group only, so that agreement
// waits each time until the others hand them on (RBFT and Aardvark compare primaries by what they
// achieve; here a backup sees why).
//
// A proposal is late when this replica takes it up a while after another backup has voted for it,
// and too few replicas have committed it without this one. A primary that left out one replica
// alone delays nobody, and is not counted. Loss on the way makes some proposals late; a primary is
// left when a good share of all are, in two intervals more than in which they are not.
//
// Loss on the way makes none come behind what the primary has sent later, since a link keeps its
// frames in order. A late proposal that was overtaken so is the primary's doing: there, as many
// count as cost a tenth of the time.
//
// Deterministic; one thread.
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "pbft/core/ordering/proposal_times.hpp"

namespace prophecy::pbft {

class LeftOut {
 public:
  static constexpr std::uint64_t kLateMin = 2;  // in an interval: agreement is slow then
  static constexpr std::uint64_t kShare = 5;    // the fifth part of all
  static constexpr std::uint64_t kOvertakenMin = 2;
  static constexpr std::uint32_t kIntervals = 2;

  explicit LeftOut(Duration interval) : interval_(interval) {}

  // After each event: what was taken up so far.
  void note(const TakenProposals& taken, TimePoint now);
  // This replica has been left out for so long.
  [[nodiscard]] bool is_due() const { return bad_ >= kIntervals; }
  // Another view has begun.
  void restart(const TakenProposals& taken, TimePoint now);

 private:
  Duration interval_;
  TimePoint since_{};
  TakenProposals then_;
  std::uint32_t bad_ = 0;  // intervals, less those that were not
};

}  // namespace prophecy::pbft
