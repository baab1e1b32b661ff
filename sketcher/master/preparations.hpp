// Preparations: what the master checks and makes before it opens listeners and forks workers.
//
// For the master alone, at its start.
#pragma once

#include "base/error.hpp"
#include "base/io/descriptor_limit.hpp"
#include "base/log.hpp"
#include "history_table/history_table.hpp"
#include "sketcher/installation/installation.hpp"
#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

// The history: from its file, if the settings name one, else empty.
[[nodiscard]] Result<HistoryTable> make_table(const Installation& installation, Logger& log);
// What workers share beside it, with routes in their configured modes.
[[nodiscard]] Result<SharedState> map_shared_state(const Installation& installation,
                                                   const HistoryTable& table);
// Of a worker, which inherits the limit.
[[nodiscard]] DescriptorNeed descriptors_needed(const Settings& settings);
// An error if workers cannot become the configured user.
[[nodiscard]] Result<> check_account(const Settings& settings);
void warn_of_rights(const Settings& settings, Logger& log);
void warn_of_routes(const Settings& settings, Logger& log);

}  // namespace prophecy::sketcher
