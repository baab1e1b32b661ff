// The counters as Prometheus metrics. The registry is filled anew for each scrape, since the
// numbers live in the workers' shared memory.
#include "http/metrics/exposition.hpp"
#include "sketcher/history/history_report.hpp"
#include "sketcher/report/field_report.hpp"
#include "sketcher/report/health_status.hpp"
#include "sketcher/report/shadow_status.hpp"
#include "sketcher/report/status.hpp"
#include "sketcher/report/transport_report.hpp"
#include "sketcher/shared/totals.hpp"

namespace prophecy::sketcher {
namespace {

using http::Exposition;
using Labels = Exposition::Labels;

void add_worker(Exposition& out, const WorkerProcess& worker, const WorkerCounters& counters) {
  const std::string index = std::to_string(worker.index);
  out.gauge("prophecy_connections", "Open client connections.", {{"worker", index}},
            static_cast<double>(counters.connections.get()));
  out.gauge("prophecy_tunnels", "Open tunnels.", {{"worker", index}},
            static_cast<double>(counters.tunnels.get()));
  out.gauge("prophecy_untaken_bytes",
            "Held of answers that clients have not taken, and in tunnels.", {{"worker", index}},
            static_cast<double>(counters.untaken_bytes.get()));
  out.gauge("prophecy_arriving_bytes", "Held of requests that are not whole, or wait.",
            {{"worker", index}}, static_cast<double>(counters.arriving_bytes.get()));
  out.gauge("prophecy_asking_bytes", "Held of requests whose answers are awaited.",
            {{"worker", index}}, static_cast<double>(counters.asking_bytes.get()));
  out.gauge("prophecy_coming_bytes", "Held of large answers that are read from origins.",
            {{"worker", index}}, static_cast<double>(counters.coming_bytes.get()));
  out.counter("prophecy_answers_shed_total",
              "Answers of origins that were let go for want of room while they came.",
              {{"worker", index}}, counters.shed_answers.get());
  out.counter("prophecy_clients_shed_total", "Clients that were too slow for the room there was.",
              {{"worker", index}}, counters.shed.get());
  out.counter("prophecy_requests_shed_total",
              "Requests that came too slowly for the room there was.", {{"worker", index}},
              counters.shed_requests.get());
  out.counter("prophecy_connections_shed_total",
              "Idle connections that were closed for new ones, with few places left.",
              {{"worker", index}}, counters.shed_connections.get());
  out.counter("prophecy_connections_total", "Accepted client connections.", {{"worker", index}},
              counters.connections_accepted.get());
  out.counter("prophecy_connections_refused_total",
              "Connections closed: too many of their address, or no PROXY header.",
              {{"worker", index}}, counters.connections_refused.get());
  out.counter("prophecy_client_timeouts_total", "Clients that were too slow.", {{"worker", index}},
              counters.timeouts.get());
  for (const auto& [name, member] : kLargeCounters) {
    out.counter("prophecy_large_answers_total", "What came of answers in blocks.",
                {{"worker", index}, {"event", std::string(name)}}, (counters.large.*member).get());
  }
  out.gauge("prophecy_spool_bytes", "Requests' bodies in files, in bytes.", {{"worker", index}},
            static_cast<double>(counters.spool.bytes.get()));
  out.counter("prophecy_spooled_bodies_total", "Requests' bodies that went to a file.",
              {{"worker", index}}, counters.spool.bodies.get());
  out.counter("prophecy_spool_refusals_total",
              "Bodies refused: no room was left for files, or the disk took no more.",
              {{"worker", index}}, counters.spool.refused.get());
  out.counter("prophecy_slow_bodies_total",
              "Bodies that gave way for want of room in files, or took too long.",
              {{"worker", index}}, counters.spool.too_slow.get());
  out.counter("prophecy_events_lost_total", "Divergences of which no event was written.",
              {{"worker", index}}, counters.events_lost.get());
  add_transport(out, index, counters);
  std::map<std::string, std::uint64_t> refusals;
  counters.refusals.add_to(refusals);
  for (const auto& [reason, count] : refusals) {
    out.counter("prophecy_refusals_total", "What the sketcher refused, by what was wrong with it.",
                {{"worker", index}, {"reason", reason}}, count);
  }
  out.counter("prophecy_worker_restarts_total", "Replacements of a worker that died.",
              {{"worker", index}}, worker.restarts);
}

void add_requests(Exposition& out, const std::string& route, const RequestTotals& totals) {
  const auto requests = [&](const char* path, Counter RequestCounters::*member) {
    out.counter("prophecy_requests_total", "Requests by how they ended.",
                {{"route", route}, {"path", path}}, totals.of(member));
  };
  requests("fast", &RequestCounters::answered_fast);
  requests("unverified", &RequestCounters::answered_unverified);
  requests("replicated", &RequestCounters::answered_replicated);
  requests("read_only", &RequestCounters::answered_read_only);
  requests("tunnel", &RequestCounters::tunnels_opened);
  requests("refused", &RequestCounters::refused);
  requests("failed", &RequestCounters::failed);
  requests("abandoned", &RequestCounters::abandoned);
  const auto tunnel_bytes = [&](const char* direction, Counter RequestCounters::*member) {
    out.counter("prophecy_tunnel_bytes_total", "Bytes passed on unseen.",
                {{"route", route}, {"direction", direction}}, totals.of(member));
  };
  tunnel_bytes("in", &RequestCounters::tunnel_bytes_in);
  tunnel_bytes("out", &RequestCounters::tunnel_bytes_out);
  out.counter("prophecy_hedged_total", "Fast reads for which a second replica was asked.",
              {{"route", route}}, totals.of(&RequestCounters::hedged));
  out.counter("prophecy_hedges_won_total", "Hedged reads that the second replica answered first.",
              {{"route", route}}, totals.of(&RequestCounters::hedges_won));
  out.counter("prophecy_over_budget_total", "Reads that failed for want of slow-path budget.",
              {{"route", route}}, totals.of(&RequestCounters::over_budget));
  out.counter("prophecy_coalesced_total", "Replicated reads that shared an equal one's answer.",
              {{"route", route}}, totals.of(&RequestCounters::coalesced));
  out.counter("prophecy_varies_unkeyed_total",
              "Agreed answers not remembered: their Vary names what is forwarded, not keyed.",
              {{"route", route}}, totals.of(&RequestCounters::varies_unkeyed));
  out.counter("prophecy_unobserved_total", "Observed answers that nothing was compared with.",
              {{"route", route}}, totals.of(&RequestCounters::unobserved));
  out.counter("prophecy_invalidations_total", "Writes that made what was remembered out of date.",
              {{"route", route}}, totals.of(&RequestCounters::invalidations));
  out.counter("prophecy_out_of_date_total", "Reads that found what a write has made out of date.",
              {{"route", route}}, totals.of(&RequestCounters::out_of_date));
  out.counter("prophecy_avoided_total",
              "Reads sent to the group at once: blacklisted automatically, for their transitions.",
              {{"route", route}}, totals.of(&RequestCounters::avoided));
  out.counter("prophecy_whitelisted_total", "Of those unverified: by an operator's whitelist.",
              {{"route", route}}, totals.of(&RequestCounters::whitelisted));
  out.counter("prophecy_blacklisted_total", "Reads sent to the group by an operator's blacklist.",
              {{"route", route}}, totals.of(&RequestCounters::blacklisted));
  out.counter("prophecy_transitions_total", "Reads whose agreed answer differed from the history.",
              {{"route", route}}, totals.of(&RequestCounters::transitions));
  for (std::size_t i = 0; i < replica_client::kReplicatedFailureCount; ++i) {
    const auto failure = static_cast<replica_client::ReplicatedFailure>(i);
    out.counter("prophecy_replicated_failures_total", "Requests that the group did not answer.",
                {{"route", route}, {"reason", std::string(replica_client::to_string(failure))}},
                totals.failures(failure));
  }
}

void add_route(Exposition& out, const StatusSources& sources, std::uint32_t index) {
  const RouteSettings& route = sources.installation.settings.routes[index];
  add_requests(out, route.name, RequestTotals::of_route(sources.shared, index));
  for (std::size_t mode = 0; mode < kRouteModeCount; ++mode) {
    const auto each = static_cast<RouteMode>(mode);
    out.gauge("prophecy_route_mode", "1 for the mode that the route is in.",
              {{"route", route.name}, {"mode", std::string(to_string(each))}},
              sources.shared.route(index).mode() == each ? 1 : 0);
  }
}

void add_origin(Exposition& out, const GroupSettings& group, const OriginAddress& origin,
                const OriginTotals& totals, const replica_client::GroupHealth& health) {
  const Labels labels{{"group", group.name},
                      {"replica", std::to_string(origin.replica)},
                      {"address", to_string(origin.address)}};
  out.counter("prophecy_divergences_total", "Answers that the group's agreement refuted.", labels,
              totals.divergences);
  out.counter("prophecy_vindications_total",
              "Answers that had been refuted, and that the group agreed on later.", labels,
              totals.vindications);
  out.counter("prophecy_noise_total",
              "Answers that differed from the group's, and prove nothing against their origin.",
              labels, totals.noise);
  out.counter("prophecy_confirmations_total",
              "Reads that asked an origin again, with constants, before it was accused.", labels,
              totals.confirmations);
  out.counter("prophecy_overtaken_total",
              "Hedged fast reads that another origin, asked later, answered first.", labels,
              totals.overtaken);
  out.counter("prophecy_slow_reads_total",
              "Fast reads that took much longer than those of other origins.", labels, totals.slow);
  add_health(out, labels, health, origin.replica);
  for (std::size_t i = 0; i < totals.exchanges.size(); ++i) {
    Labels with_end = labels;
    with_end["end"] = http::to_string(static_cast<http::ExchangeEnd>(i));
    out.counter("prophecy_fast_reads_total",
                "Fast reads by how the exchange with the origin ended.", with_end,
                totals.exchanges[i]);
    if (group.kind != GroupKind::vote) continue;
    out.counter("prophecy_votes_total", "Votes by how the exchange with the origin ended.",
                with_end, totals.votes[i]);
  }
}

}  // namespace

std::string prometheus_text(const StatusSources& sources) {
  Exposition out;
  const Settings& settings = sources.installation.settings;
  for (const WorkerProcess& worker : sources.workers)
    add_worker(out, worker, sources.shared.worker(worker.index));
  const auto routes = static_cast<std::uint32_t>(settings.routes.size());
  for (std::uint32_t i = 0; i < routes; ++i)
    add_route(out, sources, i);
  add_requests(out, "", RequestTotals::of_route(sources.shared, routes));
  out.counter("prophecy_events_lost_total", "Divergences of which no event was written.",
              {{"worker", "master"}}, sources.divergences.withheld());
  out.counter(
      "prophecy_divergence_log_skipped_total",
      "Divergences that divergence_log does not have: it was full, or could not be written.", {},
      sources.divergences.file().skipped());
  out.gauge("prophecy_bypass", "1 when the kill switch has all routes off.", {},
            sources.shared.bypass() ? 1 : 0);
  for (const GroupSettings& group : settings.groups) {
    for (const OriginAddress& origin : group.origins) {
      add_origin(out, group, origin,
                 origin_totals(sources.shared, group.first_origin + origin.replica),
                 sources.health.of(group));
    }
    add_shadows(out, group, sources.shared);
  }
  add_fields(out, sources.installation, sources.shared);
  const HistoryTableStats stats = sources.table.stats();
  out.gauge("prophecy_history_entries", "Entries of the history table.", {},
            static_cast<double>(stats.entries));
  out.gauge("prophecy_history_not_found", "Of the entries, those that hold no content.", {},
            static_cast<double>(stats.limited));
  out.gauge("prophecy_history_capacity", "Room in the history table.", {},
            static_cast<double>(stats.capacity));
  out.gauge("prophecy_history_blacklisted_automatically",
            "Requests that are blacklisted for their transitions, by each worker that has them so.",
            {}, static_cast<double>(blacklisted_automatically(sources.shared)));
  out.counter("prophecy_history_evictions_total", "Entries evicted for want of room.", {},
              stats.evictions);
  out.counter("prophecy_history_recoveries_total", "Locks taken from dead writers.", {},
              stats.recoveries);
  out.resident_memory();
  return out.text();
}

}  // namespace prophecy::sketcher
