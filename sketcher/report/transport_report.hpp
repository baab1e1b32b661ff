// What is counted of connections, for the status and for a monitoring system.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "http/metrics/exposition.hpp"
#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

// Of all workers.
[[nodiscard]] nlohmann::ordered_json transport_json(const SharedState& shared);

void add_transport(http::Exposition& out, const std::string& worker,
                   const WorkerCounters& counters);

}  // namespace prophecy::sketcher
