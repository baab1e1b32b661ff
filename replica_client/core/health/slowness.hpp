// `Slowness` judges whether an origin answers much later than the others of its group do, by the
// share of its fast reads that were slow (HedgePolicy::is_slow). States:
//
//          slow_max slow reads, and a large share        term is over
//   quick ------------------------------------> slow ------------------> trial
//     ^                                           ^                        |
//     |                                           +-- kTrialSlowMax more,  |
//     |                                               for twice as long ---+
//     +------------------ as long again without ---------------------------+
//
// The share is compared with that of the other origins: content that takes long takes long at all
// of them. GroupHealth hands in the (f+1)-th smallest share of the group, which is at least that of
// the quickest correct origin: f that are quick on purpose cannot lower it further.
//
// Deterministic; not thread-safe. Time never goes back from call to call.
#pragma once

#include <cstdint>
#include <optional>

#include "replica_client/core/health/rules.hpp"

namespace prophecy::replica_client {

class Slowness {
 public:
  enum class State : std::uint8_t { quick, slow, trial };

  // Reads without which nothing is said of an origin's share.
  static constexpr std::uint64_t kReadsMin = 20;
  static constexpr double kShareMin = 0.1;
  // So many times the others' share.
  static constexpr double kTimesOthers = 4;
  static constexpr std::uint64_t kTrialSlowMax = 2;

  explicit Slowness(const HealthRules& rules) : rules_(rules) {}

  // Fast reads since the last call. Those of an origin that sits out are not counted.
  void on_reads(std::uint64_t reads, std::uint64_t slow, TimePoint now);
  void on_time(TimePoint now);
  // `others`: the share that the origin is compared with.
  void judge(double others, TimePoint now);

  // Of the reads of late; nothing when there were too few.
  [[nodiscard]] std::optional<double> share() const;
  [[nodiscard]] State state() const { return state_; }
  // Of sitting out, or the trial: how long it takes in all.
  [[nodiscard]] Duration term() const { return term_; }

 private:
  void forget() { reads_ = slow_ = 0; }

  HealthRules rules_;
  State state_ = State::quick;
  std::uint64_t reads_ = 0;
  std::uint64_t slow_ = 0;
  TimePoint halved_at_{};
  Duration term_{};
  TimePoint term_end_{};
};

}  // namespace prophecy::replica_client
