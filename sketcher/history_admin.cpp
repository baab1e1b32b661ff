#include "sketcher/history_admin.hpp"

#include <nlohmann/json.hpp>

#include "sketcher/totals.hpp"

namespace prophecy::sketcher {
namespace {

using Json = nlohmann::ordered_json;

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

Json table_json(const HistoryTable& table) {
  const HistoryTableStats stats = table.stats();
  return {{"capacity", stats.capacity},
          {"entries", stats.entries},
          {"load", ratio(stats.entries, stats.capacity)},
          {"evictions", stats.evictions},
          {"recoveries", stats.recoveries},
          {"not_found", stats.limited},
          {"not_found_max", stats.limited_max},
          {"bytes", table.bytes()},
          {"bytes_in_huge_pages", table.huge_bytes()}};
}

Json route_json(const std::string& name, const RequestTotals& totals) {
  const std::uint64_t reads = totals.of(&RequestCounters::reads);
  const std::uint64_t hits = totals.of(&RequestCounters::answered_fast);
  const std::uint64_t transitions = totals.of(&RequestCounters::transitions);
  return {{"name", name},
          {"reads", reads},
          {"hits", hits},
          {"hit_ratio", ratio(hits, reads)},
          {"transitions", transitions},
          {"transition_ratio", ratio(transitions, reads)}};
}

}  // namespace

HistoryAdmin::HistoryAdmin(const Installation& installation, HistoryTable& table,
                           const SharedState& shared)
    : installation_(installation), table_(table), shared_(shared) {}

std::string HistoryAdmin::answer(std::string_view command, const nlohmann::json& /*request*/) {
  if (command == "history-stats") return stats();
  return Json{{"error", "expected a history command to be history-stats"}}.dump();
}

std::string HistoryAdmin::stats() const {
  Json routes = Json::array();
  const std::vector<RouteSettings>& settings = installation_.settings.routes;
  for (std::uint32_t i = 0; i < settings.size(); ++i)
    routes.push_back(route_json(settings[i].name, RequestTotals::of_route(shared_, i)));
  return Json{{"table", table_json(table_)}, {"routes", std::move(routes)}}.dump();
}

}  // namespace prophecy::sketcher
