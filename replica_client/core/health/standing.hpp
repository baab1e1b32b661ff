// Whether an origin's word is worth asking for, by the disputes that it lost: answers that the
// group's agreement refuted. States:
//
//              disputes_max within disputes_window
//   trusted ----------------------------------------> quarantined <--+
//      ^                                                  | sit-out  | one more dispute
//      +------(as long as the sit-out was)---- probation <+----------+
//
// An origin that is early when content changes at one after the other loses disputes, and turns out
// to have been right: when the group agrees on an answer that was held against it (vindicated),
// that one is forgiven, and a sit-out ends in probation.
//
// The first sit-out lasts `sit_out`, each one out of a probation twice as long as the one before,
// up to sit_out_max. A correct origin that was late now and then comes back by itself; one that
// goes on lying is asked ever more rarely.
//
// Deterministic; not thread-safe. Time never goes back from call to call.
#pragma once

#include <cstdint>

#include "replica_client/core/health/rules.hpp"

namespace prophecy::replica_client {

class Standing {
 public:
  enum class State : std::uint8_t { trusted, quarantined, probation };

  explicit Standing(const HealthRules& rules) : rules_(rules) {}

  // Disputes lost since the last call. Those of a quarantine are not held against it.
  void on_disputes(std::uint64_t lost, TimePoint now);
  void on_vindicated(std::uint64_t answers, TimePoint now);
  void on_time(TimePoint now);

  [[nodiscard]] State state() const { return state_; }
  // Of the quarantine, or the probation: how long it takes in all.
  [[nodiscard]] Duration term() const { return term_; }

 private:
  void quarantine(Duration term, TimePoint now);

  HealthRules rules_;
  State state_ = State::trusted;
  std::uint64_t lost_ = 0;  // within the window
  TimePoint window_end_{};
  Duration term_{};
  TimePoint term_end_{};
};

}  // namespace prophecy::replica_client
