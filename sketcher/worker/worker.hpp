// One worker process's work: a single-threaded event loop that accepts clients on its own
// listeners, serves them, and drains when it is told to stop. Shares with the other workers
// nothing but the history table and the shared state.
#pragma once

#include <memory>
#include <vector>

#include "base/log.hpp"
#include "base/unique_fd.hpp"
#include "history_table/history_table.hpp"
#include "sketcher/installation/installation.hpp"
#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

// What the master hands to a worker at its birth.
struct WorkerSetup {
  std::uint32_t index = 0;  // from 0
  std::vector<UniqueFd> listeners;
  UniqueFd member_listener;  // none without a ring
  UniqueFd wake;             // by the ring's process; none without a living ring
  UniqueFd event_channel;
  UniqueFd access_log;                // of nothing, if there is none
  std::uint64_t first_timestamp = 0;  // for the PBFT client's sessions
};

// Runs until TERM or INT, then drains. Yields the exit status of the process.
[[nodiscard]] int run_worker(const Installation& installation, WorkerSetup setup,
                             HistoryTable& table, const SharedState& shared, Logger& log);

}  // namespace prophecy::sketcher
