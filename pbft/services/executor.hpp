// Hands a core's executions to a service in an order that keeps their meaning:
//
//   - ordered ones begin in the order of the core; a write waits until everything before it has
//     finished, and everything after it waits for the write;
//   - reads between two writes run at the same time;
//   - a write that carries a refusal is answered with it, in its turn, and not executed;
//   - reads outside the order (PBFT's read-only optimisation) run at once. One that is no read is
//     answered `unavailable`: a client cannot slip a write past the agreement. One that ends while
//     a write runs may have seen it: where the service may undo writes, its answer is held back
//     until the write has one, and is `unavailable` if that is not to be used;
//   - a snapshot waits like a write, and is waited for; reads outside the order go on beside it;
//   - a restore replaces the state, so nothing is begun any more for what came before it: that is
//     answered `unavailable`, and snapshots that wait fail. It begins when all that runs has ended.
//     Reads outside the order are unavailable until it has succeeded. One that fails leaves no
//     state worth executing on: ordered executions are unavailable too, and snapshots fail, until
//     another one succeeds.
//
//   - behind a write that was answered as uncertain nothing ordered begins, but for a snapshot,
//   until
//     resume() or a restore.
//
// What has finished is collected, not called back: the node takes it out, so that a service that
// answers at once cannot re-enter the core. Snapshots and restores are to be taken out before
// executions: a failed restore explains what is unavailable behind it.
//
// Single-threaded.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <variant>
#include <vector>

#include "pbft/services/service.hpp"

namespace prophecy::pbft {

struct ExecutorSettings {
  std::size_t reads_in_flight_max = 64;    // ordered reads, at the same time
  std::size_t unordered_reads_max = 1024;  // beyond it: unavailable
};

struct ExecutorCounters {
  std::uint64_t ordered = 0;
  std::uint64_t unordered = 0;
  std::uint64_t refused_unordered_write = 0;
  std::uint64_t refused_overload = 0;
  std::uint64_t refused_by_epoch = 0;  // ordered writes of an epoch that is too old, or too new
  std::uint64_t refused_without_state = 0;  // because of a restore that waits, runs or has failed
};
inline constexpr Metric kExecutorMetric =
    counter_metric("prophecy_replica_executor_begun_total", "executions",
                   "Executions that were begun.")
        .by("kind");
inline constexpr Metric kRefusedMetric =
    counter_metric("prophecy_replica_executions_refused_total", "executions",
                   "Executions that were refused.")
        .by("reason");
inline constexpr auto kExecutorTable = metric_table<ExecutorCounters>(
    "", "executor",
    {metric_row<&ExecutorCounters::ordered>("ordered", kExecutorMetric, "ordered"),
     metric_row<&ExecutorCounters::unordered>("unordered", kExecutorMetric, "unordered",
                                              "Reads outside the order."),
     metric_row<&ExecutorCounters::refused_unordered_write>("refused_unordered_write",
                                                            kRefusedMetric, "unordered_write",
                                                            "A write outside the order."),
     metric_row<&ExecutorCounters::refused_overload>("refused_overload", kRefusedMetric, "overload",
                                                     "Too many reads outside the order."),
     metric_row<&ExecutorCounters::refused_by_epoch>(
         "refused_by_epoch", kRefusedMetric, "epoch",
         "A write of a ring's view that is older than the newest, or too far beyond it."),
     metric_row<&ExecutorCounters::refused_without_state>("refused_without_state", kRefusedMetric,
                                                          "without_state",
                                                          "A restore waits, runs or has failed.")});
inline constexpr Metric kWaitingMetric =
    gauge_metric("prophecy_replica_executions_waiting", "executions",
                 "Executions that wait for a write before them.")
        .about("The status has it as `executor.waiting`.");

class Executor {
 public:
  struct Finished {
    std::uint64_t id = 0;
    ExecutionStatus status = ExecutionStatus::done;
    Bytes result;
  };
  struct FinishedSnapshot {
    std::uint64_t id = 0;
    Result<Digest> root;
  };
  struct FinishedRestore {
    std::uint64_t id = 0;
    Result<> restored;
  };
  using FinishedState = std::variant<FinishedSnapshot, FinishedRestore>;

  // `on_finished` is called, when something finished outside of a call of this class, to say that
  // there is something to take.
  Executor(Service& service, const ExecutorSettings& settings, std::function<void()> on_finished);

  void submit(Execution execution);
  // The caller chooses the ids. `parts` is used until the end has been taken.
  void submit_snapshot(std::uint64_t id, PartStore& parts);
  void submit_restore(std::uint64_t id, const PartStore& parts, const Digest& root);

  // Likewise, of the present state, be it lost or not.
  void submit_look(std::uint64_t id, PartStore& parts);
  // The present state takes the place of one that was lost. Requires that nothing ordered runs or
  // waits.
  void adopt();

  // Behind an uncertain write. False: what waits, and comes before the next restore, is
  // `unavailable`.
  void resume(bool goes_on);

  // Move what has finished behind the elements of `out`.
  void take(std::vector<Finished>& out);
  void take_states(std::vector<FinishedState>& out);

  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] std::size_t running() const {
    return reads_running_ + (exclusive_ == Exclusive::none ? 0 : 1);
  }
  [[nodiscard]] const ExecutorCounters& counters() const { return counters_; }

 private:
  enum class Kind : std::uint8_t { ordered_read, ordered_write, unordered_read };
  // What runs without any other ordered thing beside it.
  enum class Exclusive : std::uint8_t { none, write, snapshot, restore };
  // Whether there is a state to execute on.
  enum class State : std::uint8_t { held, to_be_replaced, lost };
  struct Snapshot {
    std::uint64_t id = 0;
    PartStore* parts = nullptr;
  };
  struct Restore {
    std::uint64_t id = 0;
    const PartStore* parts = nullptr;
    Digest root{};
  };
  using Waiting = std::variant<Execution, Snapshot, Restore>;

  void enqueue(Waiting waiting);
  void give_up_waiting();
  void begin_ready();
  [[nodiscard]] bool may_begin(const Waiting& waiting) const;
  void begin(const Execution& execution, Kind kind);
  void begin(const Snapshot& snapshot);
  void begin_snapshot(const Snapshot& snapshot);
  void begin(const Restore& restore);
  void finish(std::uint64_t id, Kind kind, ExecutionStatus status, Bytes result);
  void finish_snapshot(std::uint64_t id, Result<Digest> root);
  void finish_restore(std::uint64_t id, Result<> restored);
  // It may have seen the write that runs.
  void hold_read(std::uint64_t id, ExecutionStatus status, Bytes result);
  void release_reads(bool has_seen_rightly);
  void refuse(std::uint64_t id);
  void refuse_without_state(std::uint64_t id);
  void end_exclusive(Exclusive what);
  void go_on();
  void submit_unordered(const Execution& execution);

  Service& service_;
  ExecutorSettings settings_;
  std::function<void()> on_finished_;
  ExecutorCounters counters_;
  std::deque<Waiting> waiting_;
  std::size_t reads_running_ = 0;
  std::size_t unordered_running_ = 0;
  std::vector<Finished> held_reads_;
  std::size_t held_bytes_ = 0;  // of their results
  Exclusive exclusive_ = Exclusive::none;
  State state_ = State::held;
  bool is_uncertain_ = false;
  bool inside_ = false;  // in submit() or begin_ready(): the caller will take() anyway
  std::vector<Finished> finished_;
  std::vector<FinishedState> finished_states_;
};

}  // namespace prophecy::pbft
