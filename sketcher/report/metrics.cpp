// The counters as Prometheus metrics. The registry is filled anew for each scrape, since the
// numbers live in the workers' shared memory.
#include "http/metrics/exposition.hpp"
#include "http/metrics/metric_descriptions.hpp"
#include "sketcher/history/history_report.hpp"
#include "sketcher/report/field_report.hpp"
#include "sketcher/report/health_status.hpp"
#include "sketcher/report/ring_status.hpp"
#include "sketcher/report/shadow_status.hpp"
#include "sketcher/report/status.hpp"
#include "sketcher/shared/totals.hpp"

namespace prophecy::sketcher {
namespace {

using http::Exposition;
using Labels = Exposition::Labels;

constexpr Metric kRouteModeMetric =
    gauge_metric("prophecy_route_mode", "flag", "1 for the mode that the route is in.")
        .by("mode", "The status has it as `routes[].mode`.");
constexpr Metric kBypassMetric =
    gauge_metric("prophecy_bypass", "flag", "1 while the kill switch is on.")
        .about("The status has it as `bypass`.");
constexpr Metric kLogSkippedMetric =
    counter_metric("prophecy_divergence_log_skipped_total", "divergences",
                   "Divergences that are not in `divergence_log`, because it was full or could not "
                   "be written.")
        .about("The program's log has them.");
constexpr Metric kBlacklistedMetric =
    gauge_metric("prophecy_history_blacklisted_automatically", "requests",
                 "Requests that are blacklisted for their transitions.")
        .about(
            "A request counts once for each worker that blacklists it. The status has it as "
            "`history.blacklisted_automatically`.");

void add_worker(Exposition& out, const WorkerProcess& worker, const WorkerCounters& counters) {
  const Labels labels{{"worker", std::to_string(worker.index)}};
  out.add(kWorkerTable, labels, counters);
  out.add(kLargeTable, labels, counters.large);
  out.add(kCompressionTable, labels, counters.compression);
  out.add(kSpoolTable, labels, counters.spool);
  out.add(kTlsTable, labels, counters.tls);
  out.add(kHttp2Table, labels, counters.http2);
  out.add(kWorkerProcessTable, labels, worker);
  std::map<std::string, std::uint64_t> refusals;
  counters.refusals.add_to(refusals);
  for (const auto& [reason, count] : refusals)
    out.add(kRefusalsMetric, labels, reason, static_cast<double>(count));
}

void add_requests(Exposition& out, const std::string& route, const RequestTotals& totals) {
  const Labels labels{{"route", route}};
  out.add(kRequestTable, labels, totals.blocks());
  out.add(kHistoryTable, labels, totals.blocks());
  out.add(kFailureTable, labels, totals.blocks());
}

void add_route(Exposition& out, const StatusSources& sources, std::uint32_t index) {
  const RouteSettings& route = sources.installation.settings.routes[index];
  add_requests(out, route.name, RequestTotals::of_route(sources.shared, index));
  for (std::size_t mode = 0; mode < kRouteModeCount; ++mode) {
    const auto each = static_cast<RouteMode>(mode);
    out.add(kRouteModeMetric, {{"route", route.name}}, to_string(each),
            sources.shared.route(index).mode() == each ? 1 : 0);
  }
}

void add_origin(Exposition& out, const StatusSources& sources, const GroupSettings& group,
                const OriginAddress& origin) {
  const Labels labels{{"group", group.name},
                      {"replica", std::to_string(origin.replica)},
                      {"address", to_string(origin.address)}};
  const auto blocks =
      blocks_of_workers(sources.shared, [&](std::uint32_t worker) -> const OriginCounters& {
        return sources.shared.origins(worker)[group.first_origin + origin.replica];
      });
  out.add(kOriginTable, labels, blocks);
  out.add(kOriginExchangeTable, labels, blocks);
  if (group.kind == GroupKind::vote) out.add(kOriginVoteTable, labels, blocks);
  add_health(out, labels, sources.health.of(group), origin.replica,
             std::chrono::steady_clock::now());
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
  out.add(kEventsLostMetric, {{"worker", "master"}},
          static_cast<double>(sources.divergences.withheld()));
  out.add(kLogSkippedMetric, {}, static_cast<double>(sources.divergences.file().skipped()));
  out.add(kBypassMetric, {}, sources.shared.bypass() ? 1 : 0);
  for (const GroupSettings& group : settings.groups) {
    for (const OriginAddress& origin : group.origins) {
      add_origin(out, sources, group, origin);
    }
    add_shadows(out, group, sources.shared);
  }
  if (sources.shared.shape().has_ring) add_ring(out, sources.shared);
  add_fields(out, sources.installation, sources.shared);
  out.add(kTableStatsTable, {}, sources.table.stats());
  out.add(kBlacklistedMetric, {}, static_cast<double>(blacklisted_automatically(sources.shared)));
  out.resident_memory();
  return out.text();
}

std::string describe_metrics() {
  http::MetricDescriptions out;
  out.add(kRequestTable);
  out.add(kFailureTable);
  out.add(kRefusalsMetric, "worker");
  out.add(kRouteModeMetric, "route");
  out.add(kBypassMetric, "");
  out.add(kWorkerTable);
  out.add(kWorkerProcessTable);
  out.add(kTlsTable);
  out.add(kHttp2Table);
  out.add(kLargeTable);
  out.add(kCompressionTable);
  out.add(kSpoolTable);
  out.add(kOriginTable);
  out.add(kOriginExchangeTable);
  out.add(kOriginVoteTable);
  describe_health(out);
  describe_shadows(out);
  describe_ring(out);
  out.add(kHistoryTable);
  out.add(kTableStatsTable);
  out.add(kBlacklistedMetric, "");
  describe_fields(out);
  out.add(kLogSkippedMetric, "");
  out.add(http::kResidentMemoryMetric, "");
  return out.text();
}

}  // namespace prophecy::sketcher
