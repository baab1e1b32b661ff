// What the master tells operators, as JSON for prophecyctl and as Prometheus text.
#pragma once

#include <array>
#include <span>
#include <string>

#include "sketcher/counters.hpp"
#include "sketcher/divergence_log.hpp"
#include "sketcher/installation.hpp"
#include "sketcher/listeners.hpp"
#include "sketcher/worker_process.hpp"

namespace prophecy::sketcher {

// Views of what the master owns.
struct StatusSources {
  const Installation& installation;
  const std::vector<Listener>& listeners;
  const std::vector<WorkerProcess>& workers;
  std::span<const WorkerCounters> counters;  // by worker
  const HistoryTable& table;
  const DivergenceLog& divergences;
  TimePoint started;
};

// What all workers counted of one origin.
struct OriginTotals {
  std::array<std::uint64_t, http::kExchangeEndCount> exchanges{};  // by ExchangeEnd
  std::array<std::uint64_t, http::kExchangeEndCount> votes{};      // likewise
  std::uint64_t divergences = 0;
};
[[nodiscard]] OriginTotals origin_totals(std::span<const WorkerCounters> workers, NodeId replica);

[[nodiscard]] std::string status_json(const StatusSources& sources, TimePoint now);
[[nodiscard]] std::string prometheus_text(const StatusSources& sources);

}  // namespace prophecy::sketcher
