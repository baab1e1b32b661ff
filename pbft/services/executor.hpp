// Hands a core's executions to a service in an order that keeps their meaning:
//
//   - ordered ones begin in the order of the core; a write waits until everything before it has
//     finished, and everything after it waits for the write;
//   - reads between two writes run at the same time;
//   - reads outside the order (PBFT's read-only optimisation) run at once. One that is no read is
//     answered `unavailable`: a client cannot slip a write past the agreement.
//
// Finished executions are collected, not called back: the node takes them out with take(), so that
// a service that answers at once cannot re-enter the core.
//
// Single-threaded.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
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
};

class Executor {
 public:
  struct Finished {
    std::uint64_t id = 0;
    ExecutionStatus status = ExecutionStatus::done;
    Bytes result;
  };

  // `on_finished` is called, when something finished outside submit() and take(), to say that
  // take() has something to give.
  Executor(Service& service, const ExecutorSettings& settings, std::function<void()> on_finished);

  void submit(Execution execution);
  // Moves what has finished behind the elements of `out`.
  void take(std::vector<Finished>& out);

  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] std::size_t running() const { return reads_running_ + (write_running_ ? 1 : 0); }
  [[nodiscard]] const ExecutorCounters& counters() const { return counters_; }

 private:
  enum class Kind : std::uint8_t { ordered_read, ordered_write, unordered_read };

  void begin_ready();
  void begin(const Execution& execution, Kind kind);
  void finish(std::uint64_t id, Kind kind, ExecutionStatus status, Bytes result);
  void submit_unordered(const Execution& execution);

  Service& service_;
  ExecutorSettings settings_;
  std::function<void()> on_finished_;
  ExecutorCounters counters_;
  std::deque<Execution> waiting_;
  std::size_t reads_running_ = 0;
  std::size_t unordered_running_ = 0;
  bool write_running_ = false;
  bool inside_ = false;  // in submit() or begin_ready(): the caller will take() anyway
  std::vector<Finished> finished_;
};

}  // namespace prophecy::pbft
