// What the history and the workers' activity tell of requests, as JSON for operators. Only reads.
//
// Single-threaded, on the master's loop.
#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "history_table/history_table.hpp"
#include "sketcher/core/read/sigma_clock.hpp"
#include "sketcher/installation/described_request.hpp"
#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

struct HistorySources {
  const Installation& installation;
  const HistoryTable& table;
  const SharedState& shared;
  const std::vector<SigmaClock>& clocks;  // by group
};

// How full the table is, and what each route has of it.
[[nodiscard]] nlohmann::ordered_json history_stats_json(const HistorySources& sources);

// All that is known of one request.
[[nodiscard]] nlohmann::ordered_json request_json(const HistorySources& sources,
                                                  const DescribedRequest& request, TimePoint now);

// Those with most transitions, over all workers.
[[nodiscard]] nlohmann::ordered_json top_requests_json(const HistorySources& sources,
                                                       std::size_t count, TimePoint now);

// How many requests are blacklisted automatically, each counted once for each worker.
[[nodiscard]] std::uint64_t blacklisted_automatically(const SharedState& shared);

[[nodiscard]] std::string_view to_string(Mark mark);
// Of the clock that sigmas are told the time by.
[[nodiscard]] std::uint64_t milliseconds_of(TimePoint now);

}  // namespace prophecy::sketcher
