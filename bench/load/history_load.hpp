// What a history table of a size does on this machine: how many of so many keys it keeps, and how
// many lookups and updates a second of processor time holds, alone and beside another process.
// Processor time, so that what else the machine does counts less.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/error.hpp"
#include "bench/load/memory_yardstick.hpp"
#include "history_table/history_entry.hpp"

namespace prophecy::tools {

struct HistoryLoadSettings {
  std::uint64_t entries = 0;  // distinct keys that the table is offered
  std::size_t bytes = 0;
  double seconds = 1;                         // of each measurement
  std::optional<std::filesystem::path> file;  // where it lies, in place of anonymous memory
};

struct HistoryLoadReport {
  HistoryTableStats stats;  // once all keys were offered
  std::size_t bytes = 0;
  std::size_t huge_bytes = 0;
  MemoryYardstick memory;  // of anonymous memory of that size
  // In a second of one process's processor time, of keys at random:
  double inserts = 0;  // while the table was filled
  double lookups = 0;
  double lookups_ahead = 0;  // with a few keys known ahead, and prefetched
  double updates = 0;
  double lookups_of_two = 0;          // of two processes at once, added up
  double lookups_beside_updates = 0;  // while another process makes as many updates as it can
  double sketch_micros = 0;           // to sketch an answer of 1 KiB, and to look its key up twice
};

// Requires entries > 0. Nothing else may run in this process: it forks.
[[nodiscard]] Result<HistoryLoadReport> run_history_load(const HistoryLoadSettings& settings);

}  // namespace prophecy::tools
