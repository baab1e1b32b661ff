#include "sketcher/status.hpp"

#include <nlohmann/json.hpp>

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

std::uint64_t sum(std::span<const WorkerCounters> blocks, Counter WorkerCounters::*member) {
  std::uint64_t total = 0;
  for (const WorkerCounters& block : blocks)
    total += (block.*member).get();
  return total;
}

Json requests_json(std::span<const WorkerCounters> blocks) {
  return {{"reads", sum(blocks, &WorkerCounters::reads)},
          {"writes", sum(blocks, &WorkerCounters::writes)},
          {"fast", sum(blocks, &WorkerCounters::answered_fast)},
          {"replicated", sum(blocks, &WorkerCounters::answered_replicated)},
          {"read_only", sum(blocks, &WorkerCounters::answered_read_only)},
          {"refused", sum(blocks, &WorkerCounters::refused)},
          {"failed", sum(blocks, &WorkerCounters::failed)},
          {"abandoned", sum(blocks, &WorkerCounters::abandoned)},
          {"client_timeouts", sum(blocks, &WorkerCounters::timeouts)}};
}

Json history_json(const StatusSources& sources) {
  const HistoryTableStats stats = sources.table.stats();
  return {{"capacity", stats.capacity},
          {"entries", stats.entries},
          {"evictions", stats.evictions},
          {"recoveries", stats.recoveries},
          {"inserts", sum(sources.counters, &WorkerCounters::table_inserts)},
          {"replaces", sum(sources.counters, &WorkerCounters::table_replaces)},
          {"unordered", sum(sources.counters, &WorkerCounters::table_unordered)},
          {"transitions", sum(sources.counters, &WorkerCounters::transitions)},
          {"forced_transitions", sum(sources.counters, &WorkerCounters::forced_transitions)},
          {"group_restarts", sum(sources.counters, &WorkerCounters::group_restarts)},
          {"unsketchable", sum(sources.counters, &WorkerCounters::unsketchable)}};
}

Json workers_json(const StatusSources& sources) {
  Json workers = Json::array();
  for (const WorkerProcess& worker : sources.workers) {
    const WorkerCounters& counters = sources.counters[worker.index];
    workers.push_back({{"index", worker.index},
                       {"state", to_string(worker.state)},
                       {"pid", worker.pid},
                       {"restarts", worker.restarts},
                       {"connections", counters.connections.get()},
                       {"accepted", counters.connections_accepted.get()},
                       {"connections_refused", counters.connections_refused.get()},
                       {"fast", counters.answered_fast.get()},
                       {"replicated", counters.answered_replicated.get()},
                       {"failed", counters.failed.get()}});
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

Json origins_json(const StatusSources& sources) {
  Json origins = Json::array();
  for (const OriginAddress& origin : sources.installation.settings.origins) {
    const OriginTotals totals = origin_totals(sources.counters, origin.replica);
    constexpr auto kAnswered = static_cast<std::size_t>(http::ExchangeEnd::answered);
    Json json{{"replica", origin.replica},
              {"address", prophecy::to_string(origin.address)},
              {"fast_answers", totals.exchanges[kAnswered]},
              {"fast_failures", failures_json(totals.exchanges)}};
    if (sources.installation.settings.group.kind == GroupKind::vote) {
      json["votes"] = totals.votes[kAnswered];
      json["vote_failures"] = failures_json(totals.votes);
    }
    json["divergences"] = totals.divergences;
    origins.push_back(std::move(json));
  }
  return origins;
}

Json failures_json(std::span<const WorkerCounters> blocks) {
  Json failures = Json::object();
  for (std::size_t i = 0; i < replica_client::kReplicatedFailureCount; ++i) {
    std::uint64_t total = 0;
    for (const WorkerCounters& block : blocks)
      total += block.replicated_failures[i].get();
    const auto failure = static_cast<replica_client::ReplicatedFailure>(i);
    failures[std::string(replica_client::to_string(failure))] = total;
  }
  return failures;
}

}  // namespace

OriginTotals origin_totals(std::span<const WorkerCounters> workers, NodeId replica) {
  OriginTotals totals;
  for (const WorkerCounters& worker : workers) {
    const OriginCounters& origin = worker.origins[replica];
    for (std::size_t i = 0; i < totals.exchanges.size(); ++i) {
      totals.exchanges[i] += origin.exchanges[i].get();
      totals.votes[i] += origin.votes[i].get();
    }
    totals.divergences += origin.divergences.get();
  }
  return totals;
}

std::string status_json(const StatusSources& sources, TimePoint now) {
  Json listen = Json::array();
  for (const Listener& listener : sources.listeners) {
    listen.push_back(prophecy::to_string(listener.address));
  }
  const Json json{
      {"version", PROPHECY_VERSION},
      {"mode", to_string(sources.installation.settings.mode)},
      {"uptime_seconds", std::chrono::duration_cast<seconds>(now - sources.started).count()},
      {"listen", std::move(listen)},
      {"requests", requests_json(sources.counters)},
      {"replicated_failures", failures_json(sources.counters)},
      {"history", history_json(sources)},
      {"divergences", sources.divergences.count()},
      {"divergences_lost", sum(sources.counters, &WorkerCounters::events_lost)},
      {"workers", workers_json(sources)},
      {"origins", origins_json(sources)}};
  return json.dump();
}

}  // namespace prophecy::sketcher
