#include "sketcher/report/status.hpp"

#include <nlohmann/json.hpp>

#include "sketcher/history/history_report.hpp"
#include "sketcher/report/health_status.hpp"
#include "sketcher/report/shadow_status.hpp"
#include "sketcher/report/transport_report.hpp"
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

Json requests_json(const RequestTotals& totals) {
  return {{"reads", totals.of(&RequestCounters::reads)},
          {"writes", totals.of(&RequestCounters::writes)},
          {"fast", totals.of(&RequestCounters::answered_fast)},
          {"unverified", totals.of(&RequestCounters::answered_unverified)},
          {"replicated", totals.of(&RequestCounters::answered_replicated)},
          {"read_only", totals.of(&RequestCounters::answered_read_only)},
          {"refused", totals.of(&RequestCounters::refused)},
          {"failed", totals.of(&RequestCounters::failed)},
          {"abandoned", totals.of(&RequestCounters::abandoned)},
          {"tunnels", totals.of(&RequestCounters::tunnels_opened)},
          {"tunnel_bytes_in", totals.of(&RequestCounters::tunnel_bytes_in)},
          {"tunnel_bytes_out", totals.of(&RequestCounters::tunnel_bytes_out)},
          {"over_budget", totals.of(&RequestCounters::over_budget)},
          {"coalesced", totals.of(&RequestCounters::coalesced)},
          {"hedged", totals.of(&RequestCounters::hedged)},
          {"hedges_won", totals.of(&RequestCounters::hedges_won)},
          {"unobserved", totals.of(&RequestCounters::unobserved)},
          {"avoided", totals.of(&RequestCounters::avoided)},
          {"whitelisted", totals.of(&RequestCounters::whitelisted)},
          {"blacklisted", totals.of(&RequestCounters::blacklisted)}};
}

Json history_json(const StatusSources& sources, const RequestTotals& totals) {
  const HistoryTableStats stats = sources.table.stats();
  return {{"capacity", stats.capacity},
          {"entries", stats.entries},
          {"evictions", stats.evictions},
          {"recoveries", stats.recoveries},
          {"inserts", totals.of(&RequestCounters::table_inserts)},
          {"replaces", totals.of(&RequestCounters::table_replaces)},
          {"unordered", totals.of(&RequestCounters::table_unordered)},
          {"invalidations", totals.of(&RequestCounters::invalidations)},
          {"out_of_date", totals.of(&RequestCounters::out_of_date)},
          {"transitions", totals.of(&RequestCounters::transitions)},
          {"forced_transitions", totals.of(&RequestCounters::forced_transitions)},
          {"group_restarts", totals.of(&RequestCounters::group_restarts)},
          {"unsketchable", totals.of(&RequestCounters::unsketchable)},
          {"varies_unkeyed", totals.of(&RequestCounters::varies_unkeyed)},
          {"not_found", stats.limited},
          {"not_found_max", stats.limited_max},
          {"blacklisted_automatically", blacklisted_automatically(sources.shared)}};
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

Json large_json(const StatusSources& sources) {
  Json json{{"list_bytes_max", sources.table.blocks().capacity()},
            {"list_bytes_taken", sources.table.blocks().bytes_taken()}};
  for (const auto& [name, member] : kLargeCounters) {
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < sources.shared.shape().workers; ++i)
      total += (sources.shared.worker(i).large.*member).get();
    json[std::string(name)] = total;
  }
  return json;
}

Json spool_json(const StatusSources& sources) {
  std::uint64_t bytes = 0, bodies = 0, refused = 0, too_slow = 0;
  for (std::uint32_t i = 0; i < sources.shared.shape().workers; ++i) {
    const SpoolCounters& counters = sources.shared.worker(i).spool;
    bytes += counters.bytes.get();
    bodies += counters.bodies.get();
    refused += counters.refused.get();
    too_slow += counters.too_slow.get();
  }
  return Json{{"bytes", bytes},
              {"bytes_max", sources.installation.settings.spool.bytes_max},
              {"bodies", bodies},
              {"refused", refused},
              {"too_slow", too_slow}};
}

Json workers_json(const StatusSources& sources) {
  Json workers = Json::array();
  for (const WorkerProcess& worker : sources.workers) {
    const WorkerCounters& counters = sources.shared.worker(worker.index);
    const auto totals = RequestTotals::of_worker(sources.shared, worker.index);
    workers.push_back({{"index", worker.index},
                       {"state", to_string(worker.state)},
                       {"pid", worker.pid},
                       {"restarts", worker.restarts},
                       {"connections", counters.connections.get()},
                       {"tunnels", counters.tunnels.get()},
                       {"untaken_bytes", counters.untaken_bytes.get()},
                       {"arriving_bytes", counters.arriving_bytes.get()},
                       {"asking_bytes", counters.asking_bytes.get()},
                       {"coming_bytes", counters.coming_bytes.get()},
                       {"shed", counters.shed.get()},
                       {"shed_answers", counters.shed_answers.get()},
                       {"shed_requests", counters.shed_requests.get()},
                       {"shed_connections", counters.shed_connections.get()},
                       {"accepted", counters.connections_accepted.get()},
                       {"connections_refused", counters.connections_refused.get()},
                       {"fast", totals.of(&RequestCounters::answered_fast)},
                       {"replicated", totals.of(&RequestCounters::answered_replicated)},
                       {"failed", totals.of(&RequestCounters::failed)}});
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
      const OriginTotals totals =
          origin_totals(sources.shared, group.first_origin + origin.replica);
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
      json["divergences"] = totals.divergences;
      json["vindications"] = totals.vindications;
      json["noise"] = totals.noise;
      json["confirmations"] = totals.confirmations;
      json["overtaken"] = totals.overtaken;
      json["slow"] = totals.slow;
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

Json failures_json(const RequestTotals& totals) {
  Json failures = Json::object();
  for (std::size_t i = 0; i < replica_client::kReplicatedFailureCount; ++i) {
    const auto failure = static_cast<replica_client::ReplicatedFailure>(i);
    failures[std::string(replica_client::to_string(failure))] = totals.failures(failure);
  }
  return failures;
}

}  // namespace

std::string status_json(const StatusSources& sources, TimePoint now) {
  Json listen = Json::array();
  for (const Listener& listener : sources.listeners) {
    listen.push_back(prophecy::to_string(listener.address));
  }
  const auto totals = RequestTotals::of_all(sources.shared);
  Json requests = requests_json(totals);
  requests["client_timeouts"] = client_timeouts(sources.shared);
  const Json json{
      {"version", PROPHECY_VERSION},
      {"bypass", sources.shared.bypass()},
      {"uptime_seconds", std::chrono::duration_cast<seconds>(now - sources.started).count()},
      {"listen", std::move(listen)},
      {"requests", std::move(requests)},
      {"transport", transport_json(sources.shared)},
      {"refusals", refusals_json(sources.shared)},
      {"replicated_failures", failures_json(totals)},
      {"history", history_json(sources, totals)},
      {"large", large_json(sources)},
      {"spool", spool_json(sources)},
      {"divergences", sources.divergences.count()},
      {"divergences_lost", lost_events(sources.shared, sources.divergences)},
      {"workers", workers_json(sources)},
      {"routes", routes_json(sources)},
      {"origins", origins_json(sources, now)},
      {"shadows", shadows_json(sources)}};
  return json.dump();
}

}  // namespace prophecy::sketcher
