// `World` drives the real read path under one seeded scheduler: sketcher/core/read/, the history
// table and the order of sigmas, as the workers of a sketcher use them, in front of a simulated
// service. A seed decides what happens next, instant by instant. Clients of several workers read,
// write, audit and leave; others write past the sketcher; origins lag, differ, fail and lie;
// entries are evicted, forgotten and blacklisted; calls fail, the group's agents are all restarted,
// workers are replaced, the clock stands still or jumps ahead. At the end everything calms down,
// and each read has to end; in some runs the liars are tried then (trial.hpp).
//
// Oracles: histories of registers are recorded, to be decided by delay_once.hpp. Attribution,
// accusation, cost and service are checked as the run goes; the first breach is violation().
// docs/reads.md says what the oracles cannot see.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "consistency/bounds.hpp"
#include "consistency/client.hpp"
#include "consistency/group/service.hpp"
#include "consistency/history.hpp"
#include "consistency/oracles/accusation.hpp"
#include "consistency/oracles/attribution.hpp"
#include "consistency/oracles/cost.hpp"
#include "consistency/oracles/recorder.hpp"
#include "consistency/oracles/tally.hpp"
#include "consistency/origins/operator.hpp"
#include "consistency/ring.hpp"
#include "consistency/settings.hpp"
#include "history_table/history_table.hpp"
#include "sketch/sketch.hpp"
#include "sketcher/core/read/sigma_order.hpp"
#include "sketcher/counters/counters.hpp"

namespace prophecy::consistency {

class Crowd;

class World {
 public:
  World(std::uint64_t seed, const Variant& variant, GroupChoice group, const Bounds& bounds);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] Histories run();
  // After the run.
  [[nodiscard]] const Tally& tally() const { return tally_; }
  [[nodiscard]] const std::optional<std::string>& violation() const { return breach_.first(); }

  // ---- For clients and workers.
  [[nodiscard]] simulation::Random& random() { return random_; }
  [[nodiscard]] const RunSettings& settings() const { return settings_; }
  [[nodiscard]] const sketch::Profile& profile() const { return profile_; }
  [[nodiscard]] const sketch::SketchFunction& sketch_function() const { return sketch_; }
  [[nodiscard]] Service& service() { return *service_; }
  [[nodiscard]] Operator& operators() { return operator_; }
  // Those that the worker in this place uses: in a ring, each member has its own.
  [[nodiscard]] HistoryTable& table(std::size_t place);
  [[nodiscard]] WriteFloors floors(std::size_t place);
  [[nodiscard]] sketcher::SigmaOrder& order(std::size_t place);
  // Null without a ring.
  [[nodiscard]] const sketcher::Acceptance* acceptance(std::size_t place);
  [[nodiscard]] SimulatedWorker& worker(std::size_t place) { return *workers_[place]; }
  [[nodiscard]] sketcher::RequestCounters& counters() { return counters_; }
  [[nodiscard]] sketcher::LargeCounters& large() { return large_; }
  [[nodiscard]] const std::vector<std::string>& addresses() const { return addresses_; }
  // The order of what happens; and the time that the cores are told.
  [[nodiscard]] Instant instant() const { return instant_; }
  [[nodiscard]] TimePoint now() const { return TimePoint{} + milliseconds(clock_ms_); }
  // Of the events of an exchange with an origin, those by which it fails.
  [[nodiscard]] std::uint64_t failing_percent() const { return failing_percent_; }
  [[nodiscard]] SimulatedWorker& any_worker();
  [[nodiscard]] std::string new_value() { return "w" + std::to_string(++values_); }
  void note_wanted(const Wanted& wanted);
  [[nodiscard]] const Wanted* last_wanted() const {
    return last_wanted_ ? &*last_wanted_ : nullptr;
  }
  [[nodiscard]] Wanted trial_wanted();
  // For BrokenWorld::shared_key.
  static void share_key(sketch::RequestForm& form);

  // ---- Oracles.
  [[nodiscard]] Recorder& recorder() { return recorder_; }
  [[nodiscard]] Attribution& attribution() { return attribution_; }
  [[nodiscard]] Accusation& accusation() { return accusation_; }
  [[nodiscard]] Cost& cost() { return cost_; }
  [[nodiscard]] Tally& counted() { return tally_; }
  // A read of no client's: what it returns is not recorded. Nothing, if it is of no register.
  [[nodiscard]] std::optional<OperationId> begin_own_read(std::string_view wire);
  // Of all workers that there have been.
  void check_hedges();
  // Service: a read has failed though nothing fails.
  void note_unserved(std::string_view why);

 private:
  static constexpr std::size_t kWorkers = 2;
  enum class Trial : std::uint8_t { none, of_service, of_liars };

  [[nodiscard]] std::unique_ptr<Service> make_service(std::uint64_t seed);
  void pass_time();
  void step();
  void do_something_rare();
  void mark(const Sketch& key, Mark mark);
  void change_tables(const std::function<ChangeOutcome(HistoryTable&)>& change);
  // Nothing fails any more: each read that is under way ends.
  void calm_down();
  void note_endless();
  [[nodiscard]] bool is_quiet() const;
  // trial.cpp
  void hold_trial();
  void serve(std::size_t reads);
  [[nodiscard]] bool name_liars(std::size_t reads);
  void run_trial_read();
  void check_sizes();
  void count_all();
  [[nodiscard]] Sketch key_of(Key key, bool is_head);
  [[nodiscard]] Sigma place_other(sketcher::SigmaOrder& order);
  void make_ring();
  // The newest number of a member of the ring, and one of a barrier there.
  [[nodiscard]] Sigma newest(std::size_t member);
  [[nodiscard]] Sigma order_barrier(std::size_t member);
  void crowd_out(const Sketch& key);
  void forget_table();
  void write_past_the_sketcher();
  void replace_worker();

  simulation::Random random_;
  RunSettings settings_;
  Breach breach_;
  Tally tally_;
  Attribution attribution_;
  Accusation accusation_;
  Cost cost_;
  Operator operator_;
  sketch::Profile profile_;
  sketch::SketchFunction sketch_;
  std::unique_ptr<Service> service_;
  Recorder recorder_;
  const std::uint64_t seed_;
  HistoryTable table_;
  std::unique_ptr<Crowd> crowd_;  // in some runs
  WriteFloors floors_ = table_.floors(0);
  std::vector<HistoryTable> former_tables_;  // of a variant; `floors_` lie in the first one
  sketcher::SigmaOrder order_;
  std::unique_ptr<SimulatedRing> ring_;  // in some runs, which do not use these then
  sketcher::RequestCounters counters_{};
  sketcher::LargeCounters large_{};
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<SimulatedWorker>> workers_;
  std::vector<std::unique_ptr<SimulatedClient>> clients_;
  std::optional<Wanted> last_wanted_;
  Trial trial_ = Trial::none;
  Instant instant_ = 0;
  std::int64_t clock_ms_ = 1'000'000;
  bool is_clock_still_ = false;
  std::uint64_t failing_percent_ = 0;
  std::uint64_t values_ = 0;
  std::size_t workers_born_ = kWorkers;
};

}  // namespace prophecy::consistency
