// The history table written to a file, or seeded from one that another sketcher of the installation
// has written. The work of a process of its own: it reads and writes the file and the shared
// memory, and waits for disks and for writers.
#pragma once

#include <functional>
#include <optional>

#include "base/error.hpp"
#include "history_table/history_table.hpp"
#include "history_table/transfer/export_writer.hpp"
#include "sketcher/installation/installation.hpp"
#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

// False: whoever wanted it has gone. Asked now and then.
using IsWanted = std::function<bool()>;

struct ExportReport {
  table::ExportTotals totals;
  std::uint64_t buckets_skipped = 0;  // writers held them for too long
};

// Into a file that is empty. What changes meanwhile may be in it as it was before or after, an
// entry that moves twice or not at all.
[[nodiscard]] Result<ExportReport> export_history(int fd, const Installation& installation,
                                                  const HistoryTable& table, std::uint64_t made_at,
                                                  const IsWanted& is_wanted);

struct ImportOptions {
  bool takes_marks = false;
  // Seconds since 1970: refuses what is not younger.
  std::optional<std::uint64_t> made_after = std::nullopt;
  // The file is right, and nothing is changed yet.
  std::function<void(std::uint64_t made_at, std::uint64_t entries)> on_checked = nullptr;
};

struct ImportReport {
  std::uint64_t made_at = 0;
  std::uint64_t entries = 0;  // in the file
  std::uint64_t marks = 0;    // of these
  // What became of them; SeedOutcome.
  std::uint64_t taken = 0;
  std::uint64_t known = 0;
  std::uint64_t contradicted = 0;
  std::uint64_t forgotten = 0;
  std::uint64_t full = 0;
  double floors_raised = 0;  // of all write floors, how many of 1
};

// Nothing is changed before all of the file was seen to be right. Requires that the table is
// attached to a slot of its own.
[[nodiscard]] Result<ImportReport> import_history(int fd, const ImportOptions& options,
                                                  const Installation& installation,
                                                  HistoryTable& table, const SharedState& shared,
                                                  const IsWanted& is_wanted);

// Begins every group's numbering anew, so that there is room for `count` numbers behind all that
// was numbered before and before all that will be: they begin behind the result. What was numbered
// before is out of date.
[[nodiscard]] Result<Sigma> make_room_for_numbers(const Settings& settings, HistoryTable& table,
                                                  const SharedState& shared, Sigma count);

}  // namespace prophecy::sketcher
