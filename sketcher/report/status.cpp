#include "sketcher/report/status.hpp"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "http/metrics/status_rows.hpp"
#include "sketcher/history/history_report.hpp"
#include "sketcher/report/health_status.hpp"
#include "sketcher/report/ring_status.hpp"
#include "sketcher/report/shadow_status.hpp"
#include "sketcher/shared/totals.hpp"

namespace prophecy::sketcher {
namespace {

using Json = nlohmann::ordered_json;

std::string_view to_string(WorkerState state) {
  switch (state) {
    case WorkerState::running:
      return "running";
    case WorkerState::waiting:
      return "waiting";
    case WorkerState::stopped:
      return "stopped";
  }
  return "";
}

std::uint64_t lost_events(const SharedState& shared, const DivergenceLog& divergences) {
  std::uint64_t total = divergences.withheld();
  for (std::uint32_t worker = 0; worker < shared.shape().workers; ++worker)
    total += shared.worker(worker).events_lost.get();
  return total;
}

std::uint64_t client_timeouts(const SharedState& shared) {
  std::uint64_t total = 0;
  for (std::uint32_t worker = 0; worker < shared.shape().workers; ++worker)
    total += shared.worker(worker).timeouts.get();
  return total;
}

// Adds one block of each worker up, which pick() takes from the worker's counters.
template <class Table, class Pick>
Json sum_json(const SharedState& shared, const Table& table, Pick pick) {
  Json json = Json::object();
  http::add_rows(json, table,
                 blocks_of_workers(
                     shared, [&](std::uint32_t worker) -> const auto& {
                       return pick(shared.worker(worker));
                     }));
  return json;
}

Json requests_json(const StatusSources& sources, const RequestTotals& totals) {
  Json json = Json::object();
  http::add_rows(json, kRequestTable, totals.blocks());
  json["client_timeouts"] = client_timeouts(sources.shared);
  return json;
}

Json history_json(const StatusSources& sources, const RequestTotals& totals) {
  Json json = Json::object();
  http::add_rows(json, kTableStatsTable, sources.table.stats());
  http::add_rows(json, kHistoryTable, totals.blocks());
  json["blacklisted_automatically"] = blacklisted_automatically(sources.shared);
  return json;
}

Json routes_json(const StatusSources& sources) {
  const Settings& settings = sources.installation.settings;
  Json routes = Json::array();
  for (std::uint32_t i = 0; i < settings.routes.size(); ++i) {
    const RouteSettings& route = settings.routes[i];
    const auto totals = RequestTotals::of_route(sources.shared, i);
    routes.push_back(
        {{"name", route.name},
         {"group", settings.groups[route.group].name},
         {"mode", to_string(sources.shared.route(i).mode())},
         {"reads", to_string(route.reads)},
         {"requests", totals.of(&RequestCounters::reads) + totals.of(&RequestCounters::writes)},
         {"fast", totals.of(&RequestCounters::answered_fast)},
         {"unverified", totals.of(&RequestCounters::answered_unverified)},
         {"replicated", totals.of(&RequestCounters::answered_replicated)},
         {"refused", totals.of(&RequestCounters::refused)},
         {"failed", totals.of(&RequestCounters::failed)},
         {"transitions", totals.of(&RequestCounters::transitions)}});
  }
  return routes;
}

Json refusals_json(const SharedState& shared) {
  std::map<std::string, std::uint64_t> totals;
  for (std::uint32_t worker = 0; worker < shared.shape().workers; ++worker)
    shared.worker(worker).refusals.add_to(totals);
  return Json(totals);
}

Json transport_json(const SharedState& shared) {
  const auto tls = [](const WorkerCounters& counters) -> const auto& {
    return counters.tls;
  };
  const auto http2 = [](const WorkerCounters& counters) -> const auto& {
    return counters.http2;
  };
  return {{"tls", sum_json(shared, kTlsTable, tls)},
          {"http2", sum_json(shared, kHttp2Table, http2)}};
}

Json compression_json(const SharedState& shared) {
  return sum_json(
      shared, kCompressionTable,
      [](const WorkerCounters& counters) -> const auto& { return counters.compression; });
}

Json large_json(const StatusSources& sources) {
  Json json{{"list_bytes_max", sources.table.blocks().capacity()},
            {"list_bytes_taken", sources.table.blocks().bytes_taken()}};
  json.update(sum_json(
      sources.shared, kLargeTable,
      [](const WorkerCounters& counters) -> const auto& { return counters.large; }));
  return json;
}

Json spool_json(const StatusSources& sources) {
  Json json = sum_json(
      sources.shared, kSpoolTable,
      [](const WorkerCounters& counters) -> const auto& { return counters.spool; });
  json["bytes_max"] = sources.installation.settings.spool.bytes_max;
  return json;
}

Json workers_json(const StatusSources& sources) {
  Json workers = Json::array();
  for (const WorkerProcess& worker : sources.workers) {
    const WorkerCounters& counters = sources.shared.worker(worker.index);
    const auto totals = RequestTotals::of_worker(sources.shared, worker.index);
    Json json{{"index", worker.index}, {"state", to_string(worker.state)}, {"pid", worker.pid}};
    http::add_rows(json, kWorkerProcessTable, worker);
    http::add_rows(json, kWorkerTable, counters);
    json["fast"] = totals.of(&RequestCounters::answered_fast);
    json["replicated"] = totals.of(&RequestCounters::answered_replicated);
    json["failed"] = totals.of(&RequestCounters::failed);
    workers.push_back(std::move(json));
  }
  return workers;
}

Json failures_json(const std::array<std::uint64_t, http::kExchangeEndCount>& ends) {
  Json failures = Json::object();
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const auto end = static_cast<http::ExchangeEnd>(i);
    if (end != http::ExchangeEnd::answered) failures[std::string(http::to_string(end))] = ends[i];
  }
  return failures;
}

Json origins_json(const StatusSources& sources, TimePoint now) {
  Json origins = Json::array();
  for (const GroupSettings& group : sources.installation.settings.groups) {
    for (const OriginAddress& origin : group.origins) {
      const std::uint32_t number = group.first_origin + origin.replica;
      const OriginTotals totals = origin_totals(sources.shared, number);
      const auto blocks =
          blocks_of_workers(sources.shared, [&](std::uint32_t worker) -> const OriginCounters& {
            return sources.shared.origins(worker)[number];
          });
      constexpr auto kAnswered = static_cast<std::size_t>(http::ExchangeEnd::answered);
      Json json{{"group", group.name},
                {"replica", origin.replica},
                {"address", prophecy::to_string(origin.address)}};
      add_health(json, sources.health.of(group), origin.replica, now);
      json["fast_answers"] = totals.exchanges[kAnswered];
      json["fast_failures"] = failures_json(totals.exchanges);
      if (group.kind == GroupKind::vote) {
        json["votes"] = totals.votes[kAnswered];
        json["vote_failures"] = failures_json(totals.votes);
      }
      http::add_rows(json, kOriginTable, blocks);
      origins.push_back(std::move(json));
    }
  }
  return origins;
}

Json shadows_json(const StatusSources& sources) {
  Json shadows = Json::array();
  for (const GroupSettings& group : sources.installation.settings.groups)
    add_shadows(shadows, group, sources.shared);
  return shadows;
}

}  // namespace

std::string access_log_json(const Settings& settings) {
  Json answer = {{"error", "no access_log is configured"}};
  if (settings.access_log) {
    answer = {{"access_log", std::filesystem::absolute(*settings.access_log).string()}};
  }
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string status_json(const StatusSources& sources, TimePoint now) {
  Json listen = Json::array();
  for (const Listener& listener : sources.listeners) {
    listen.push_back(prophecy::to_string(listener.address));
  }
  const auto totals = RequestTotals::of_all(sources.shared);
  Json json{{"version", PROPHECY_VERSION},
            {"bypass", sources.shared.bypass()},
            {"uptime_seconds", std::chrono::duration_cast<seconds>(now - sources.started).count()},
            {"listen", std::move(listen)},
            {"requests", requests_json(sources, totals)},
            {"transport", transport_json(sources.shared)},
            {"refusals", refusals_json(sources.shared)},
            {"history", history_json(sources, totals)},
            {"large", large_json(sources)},
            {"spool", spool_json(sources)},
            {"compression", compression_json(sources.shared)},
            {"divergences", sources.divergences.count()},
            {"divergences_lost", lost_events(sources.shared, sources.divergences)},
            {"workers", workers_json(sources)},
            {"routes", routes_json(sources)},
            {"origins", origins_json(sources, now)},
            {"shadows", shadows_json(sources)}};
  http::add_rows(json, kFailureTable, totals.blocks());
  if (sources.shared.shape().has_ring)
    json["ring"] = ring_json(*sources.installation.settings.ring, sources.shared, sources.ring);
  if (!sources.ring_settings.is_null()) json["ring"]["settings"] = sources.ring_settings;
  return json.dump();
}

}  // namespace prophecy::sketcher
