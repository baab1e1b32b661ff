// The ring's process: what it runs, and how the master and it speak.
#pragma once

#include <vector>

#include "base/log.hpp"
#include "base/unique_fd.hpp"
#include "dht/core/agreed_settings.hpp"
#include "history_table/history_table.hpp"
#include "sketcher/installation/installation.hpp"
#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

// From the master: one byte, or what settings_messages.hpp and report_messages.hpp have. To it:
// what ring_report() yields, now and then, and what these have.
constexpr char kDrainOrder = 'd';
constexpr char kRejoinOrder = 'j';

struct RingChildSetup {
  const Installation& installation;
  HistoryTable& table;  // attached
  const SharedState& shared;
  std::vector<int> wakes;  // by worker
  UniqueFd listener;
  UniqueFd channel;
  dht::AgreedSettings known;  // that the master acts by
};

// Runs until TERM or INT. Yields the exit status of the process.
[[nodiscard]] int run_ring(RingChildSetup setup, Logger& log);

}  // namespace prophecy::sketcher
