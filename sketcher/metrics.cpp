// The counters as Prometheus metrics. The registry is filled anew for each scrape, since the
// numbers live in the workers' shared memory.
#include "http/metrics/exposition.hpp"
#include "sketcher/status.hpp"

namespace prophecy::sketcher {
namespace {

using http::Exposition;
using Labels = Exposition::Labels;

void add_worker(Exposition& out, const WorkerProcess& worker, const WorkerCounters& counters) {
  const std::string index = std::to_string(worker.index);
  const auto requests = [&](const char* path, const Counter& counter) {
    out.counter("prophecy_requests_total", "Requests by how they ended.",
                {{"worker", index}, {"path", path}}, counter.get());
  };
  requests("fast", counters.answered_fast);
  requests("replicated", counters.answered_replicated);
  requests("read_only", counters.answered_read_only);
  requests("refused", counters.refused);
  requests("failed", counters.failed);
  requests("abandoned", counters.abandoned);
  out.gauge("prophecy_connections", "Open client connections.", {{"worker", index}},
            static_cast<double>(counters.connections.get()));
  out.counter("prophecy_connections_total", "Accepted client connections.", {{"worker", index}},
              counters.connections_accepted.get());
  out.counter("prophecy_connections_refused_total",
              "Connections closed because their address had too many.", {{"worker", index}},
              counters.connections_refused.get());
  out.counter("prophecy_transitions_total", "Reads whose agreed answer differed from the history.",
              {{"worker", index}}, counters.transitions.get());
  out.counter("prophecy_client_timeouts_total", "Clients that were too slow.", {{"worker", index}},
              counters.timeouts.get());
  out.counter("prophecy_events_lost_total", "Divergences of which the evidence was lost.",
              {{"worker", index}}, counters.events_lost.get());
  for (std::size_t i = 0; i < replica_client::kReplicatedFailureCount; ++i) {
    const auto failure = static_cast<replica_client::ReplicatedFailure>(i);
    out.counter("prophecy_replicated_failures_total", "Requests that the group did not answer.",
                {{"worker", index}, {"reason", std::string(replica_client::to_string(failure))}},
                counters.replicated_failures[i].get());
  }
  out.counter("prophecy_worker_restarts_total", "Replacements of a worker that died.",
              {{"worker", index}}, worker.restarts);
}

void add_origin(Exposition& out, const OriginAddress& origin, const OriginTotals& totals,
                bool votes) {
  const Labels labels{{"replica", std::to_string(origin.replica)},
                      {"address", to_string(origin.address)}};
  out.counter("prophecy_divergences_total", "Answers that the group's agreement refuted.", labels,
              totals.divergences);
  for (std::size_t i = 0; i < totals.exchanges.size(); ++i) {
    Labels with_end = labels;
    with_end["end"] = http::to_string(static_cast<http::ExchangeEnd>(i));
    out.counter("prophecy_fast_reads_total",
                "Fast reads by how the exchange with the origin ended.", with_end,
                totals.exchanges[i]);
    if (!votes) continue;
    out.counter("prophecy_votes_total", "Votes by how the exchange with the origin ended.",
                with_end, totals.votes[i]);
  }
}

}  // namespace

std::string prometheus_text(const StatusSources& sources) {
  Exposition out;
  for (const WorkerProcess& worker : sources.workers) {
    add_worker(out, worker, sources.counters[worker.index]);
  }
  const bool votes = sources.installation.settings.group.kind == GroupKind::vote;
  for (const OriginAddress& origin : sources.installation.settings.origins) {
    add_origin(out, origin, origin_totals(sources.counters, origin.replica), votes);
  }
  const HistoryTableStats stats = sources.table.stats();
  out.gauge("prophecy_history_entries", "Entries of the history table.", {},
            static_cast<double>(stats.entries));
  out.gauge("prophecy_history_capacity", "Room in the history table.", {},
            static_cast<double>(stats.capacity));
  out.counter("prophecy_history_evictions_total", "Entries evicted for want of room.", {},
              stats.evictions);
  out.counter("prophecy_history_recoveries_total", "Locks taken from dead writers.", {},
              stats.recoveries);
  out.resident_memory();
  return out.text();
}

}  // namespace prophecy::sketcher
