// One worker as the master sees it: a process, and the channel on which its events come in. When
// a process dies, another takes its place: the same listeners, counters and index.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/metric.hpp"
#include "base/unique_fd.hpp"
#include "history_table/history_table.hpp"
#include "sketcher/installation/installation.hpp"
#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

enum class WorkerState : std::uint8_t {
  running,
  waiting,  // died, and waits for its replacement
  stopped,  // ended as it was told
};

struct WorkerProcess {
  std::uint32_t index = 0;
  WorkerState state = WorkerState::waiting;
  int pid = -1;
  std::uint64_t restarts = 0;
  TimePoint started;
  UniqueFd events;  // the master's end
};
inline constexpr auto kWorkerProcessTable = metric_table<WorkerProcess>(
    "worker", "workers[]",
    {metric_row<&WorkerProcess::restarts>(
        "restarts", counter_metric("prophecy_worker_restarts_total", "restarts",
                                   "Replacements of a worker that died."))});

// Descriptors of the master that a worker keeps.
struct KeptFiles {
  std::vector<int> listeners;
  int member_listener = -1;  // in a ring; -1: there is none
  int access_log = -1;       // likewise
  int wake = -1;             // by the ring's process
};

// Forks. In the child, runs the worker and never returns. All descriptors of the master but `kept`
// are closed in the child.
[[nodiscard]] Result<> start_worker(WorkerProcess& process, const Installation& installation,
                                    const KeptFiles& kept, HistoryTable& table,
                                    const SharedState& shared, Logger& log);

// A worker that has ended holds nothing any more.
void clear_gauges(const SharedState& shared, std::uint32_t index);

}  // namespace prophecy::sketcher
