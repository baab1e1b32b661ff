// What the master tells operators, as JSON for prophecyctl and as Prometheus text.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "sketcher/health/monitor.hpp"
#include "sketcher/installation/installation.hpp"
#include "sketcher/shared/divergence_log.hpp"
#include "sketcher/shared/shared_state.hpp"
#include "sketcher/worker/listeners.hpp"
#include "sketcher/worker/worker_process.hpp"

namespace prophecy::sketcher {

// Views of what the master owns.
struct StatusSources {
  const Installation& installation;
  const std::vector<Listener>& listeners;
  const std::vector<WorkerProcess>& workers;
  const SharedState& shared;
  const HistoryTable& table;
  const DivergenceLog& divergences;
  const HealthMonitor& health;
  const nlohmann::json& ring;            // of its process: an object, or null
  nlohmann::ordered_json ring_settings;  // that all members share: an object, or null
  TimePoint started;
};

[[nodiscard]] std::string status_json(const StatusSources& sources, TimePoint now);
// Where the access log lies, or that there is none.
[[nodiscard]] std::string access_log_json(const Settings& settings);
[[nodiscard]] std::string prometheus_text(const StatusSources& sources);
// All metrics that prometheus_text() may have, as TOML (http/metrics/metric_descriptions.hpp).
[[nodiscard]] std::string describe_metrics();

}  // namespace prophecy::sketcher
