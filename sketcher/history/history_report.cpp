#include "sketcher/history/history_report.hpp"

#include <algorithm>
#include <map>

#include "base/bytes.hpp"
#include "sketcher/core/policy/activity_view.hpp"
#include "sketcher/core/read/history_key.hpp"
#include "sketcher/core/read/read_algorithm.hpp"
#include "sketcher/shared/totals.hpp"

namespace prophecy::sketcher {
namespace {

using Json = nlohmann::ordered_json;

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

double seconds_of(std::uint64_t milliseconds) {
  return static_cast<double>(milliseconds) / 1000;
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
          {"floors", table.floor_slots()},
          {"floors_raised", table.floors_raised()},
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
          {"transition_ratio", ratio(transitions, reads)},
          {"avoided", totals.of(&RequestCounters::avoided)},
          {"whitelisted", totals.of(&RequestCounters::whitelisted)},
          {"blacklisted", totals.of(&RequestCounters::blacklisted)}};
}

Json activity_json(const SharedState& shared) {
  std::uint64_t records = 0, capacity = 0, evictions = 0;
  for (std::uint32_t worker = 0; worker < shared.shape().workers; ++worker) {
    const ActivityView view(shared.activity(worker));
    records += view.head().records.get();
    evictions += view.head().evictions.get();
    capacity += view.capacity();
  }
  return {{"capacity", capacity},
          {"records", records},
          {"evictions", evictions},
          {"blacklisted_automatically", blacklisted_automatically(shared)},
          {"bytes", shared.shape().activity_bytes * shared.shape().workers}};
}

// What several workers know of one request.
struct Activity {
  RequestActivity sum;  // the numbers added up; the rest is any worker's
  double share = 0;     // weighted by how much each has seen
  double weight = 0;
  std::uint32_t blacklisted_by = 0;  // workers
};

void add(Activity& activity, RequestActivity one, std::uint32_t now) {
  const std::uint32_t age = now - std::min(now, one.last_seconds);
  const double weight = one.volatility.weight_after(age);
  activity.blacklisted_by += one.volatility.blacklists(age) ? 1 : 0;
  if (activity.weight + weight > 0) {
    activity.share +=
        (one.volatility.share() - activity.share) * weight / (activity.weight + weight);
  }
  activity.weight += weight;
  RequestActivity& sum = activity.sum;
  if (sum.url.empty()) {
    sum = std::move(one);
    return;
  }
  sum.hits += one.hits;
  sum.group_reads += one.group_reads;
  sum.transitions += one.transitions;
  sum.first_seconds = std::min(sum.first_seconds, one.first_seconds);
  sum.last_seconds = std::max(sum.last_seconds, one.last_seconds);
}

void add_json(Json& json, const Activity& activity, std::uint32_t now) {
  const RequestActivity& sum = activity.sum;
  json["hits"] = sum.hits;
  json["group_reads"] = sum.group_reads;
  json["transitions"] = sum.transitions;
  json["transition_share"] = activity.share;
  json["reads_weighed"] = activity.weight;
  json["blacklisted_by"] = activity.blacklisted_by;
  json["first_seconds_ago"] = now - std::min(now, sum.first_seconds);
  json["last_seconds_ago"] = now - std::min(now, sum.last_seconds);
}

Json entry_json(const HistoryEntry& entry, const HistoryTable::Imported& imported,
                const SigmaClock& clock, TimePoint now) {
  Json json{{"mark", to_string(entry.mark)}};
  if (entry.mark != Mark::none) return json;
  json["answer"] = entry.answer == kNoSketch ? Json() : Json(to_hex(entry.answer));
  json["sigma"] = entry.sigma;
  json["imported"] = entry.sigma > imported.behind && entry.sigma <= imported.last;
  const auto age = clock.age_of(entry.sigma, milliseconds_of(now));
  json["at_least_seconds_old"] = age ? seconds_of(age->at_least_ms) : 0.0;
  // Numbers of an import tell when it came, and not when another sketcher's group agreed. Of those
  // before, nobody knows which had been imported.
  const bool is_own = entry.sigma > imported.last;
  json["at_most_seconds_old"] =
      is_own && age && age->at_most_ms ? Json(seconds_of(*age->at_most_ms)) : Json();
  return json;
}

}  // namespace

std::string_view to_string(Mark mark) {
  switch (mark) {
    case Mark::none:
      return "none";
    case Mark::whitelisted:
      return "whitelisted";
    case Mark::blacklisted:
      return "blacklisted";
  }
  return "none";
}

std::uint64_t milliseconds_of(TimePoint now) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<milliseconds>(now.time_since_epoch()).count());
}

std::uint64_t blacklisted_automatically(const SharedState& shared) {
  std::uint64_t total = 0;
  for (std::uint32_t worker = 0; worker < shared.shape().workers; ++worker)
    total += ActivityView(shared.activity(worker)).head().blacklisted.get();
  return total;
}

Json history_stats_json(const HistorySources& sources) {
  Json routes = Json::array();
  const std::vector<RouteSettings>& settings = sources.installation.settings.routes;
  for (std::uint32_t i = 0; i < settings.size(); ++i)
    routes.push_back(route_json(settings[i].name, RequestTotals::of_route(sources.shared, i)));
  return {{"table", table_json(sources.table)},
          {"activity", activity_json(sources.shared)},
          {"routes", std::move(routes)}};
}

Json request_json(const HistorySources& sources, const DescribedRequest& request, TimePoint now) {
  const Settings& settings = sources.installation.settings;
  Json json = Json::object();
  json["refused"] = nullptr;
  if (request.refusal) {
    json["refused"] = {{"status", request.refusal->status}, {"reason", request.refusal->reason}};
  }
  if (request.route) {
    const RouteSettings& route = settings.routes[*request.route];
    json["route"] = route.name;
    json["group"] = settings.groups[route.group].name;
    json["mode"] = to_string(sources.shared.route(*request.route).mode());
    json["bypass"] = sources.shared.bypass();
    json["reads"] = to_string(route.reads);
    json["listed"] = to_string(request.listed);
  }
  if (request.refusal) return json;
  const std::uint32_t group = settings.routes[*request.route].group;
  const WriteFloors floors = sources.table.floors(group);
  const Sketch key = history_key(floors, sources.installation.groups[group].sketch, request.form);
  json["key"] = to_hex(key);
  const auto entry = sources.table.lookup(key);
  json["entry"] =
      entry ? entry_json(*entry, sources.table.imported(), sources.clocks[group], now) : Json();
  json["out_of_date"] =
      entry && !floors.admit(entry, floors.slot_of(request.form.authority, request.form.target));
  Activity activity;
  const std::uint32_t now_seconds = activity_seconds(now);
  for (std::uint32_t worker = 0; worker < sources.shared.shape().workers; ++worker) {
    if (auto one = ActivityView(sources.shared.activity(worker)).find(key))
      add(activity, std::move(*one), now_seconds);
  }
  json["activity"] = nullptr;
  if (!activity.sum.url.empty()) {
    json["activity"] = Json::object();
    add_json(json["activity"], activity, now_seconds);
  }
  return json;
}

Json top_requests_json(const HistorySources& sources, std::size_t count, TimePoint now) {
  std::map<Sketch, Activity> by_key;
  const std::uint32_t now_seconds = activity_seconds(now);
  for (std::uint32_t worker = 0; worker < sources.shared.shape().workers; ++worker) {
    ActivityView(sources.shared.activity(worker))
        .for_each_with_transitions([&](RequestActivity one) {
          Activity& of_key = by_key[one.key];
          add(of_key, std::move(one), now_seconds);
        });
  }
  std::vector<const Activity*> top;
  top.reserve(by_key.size());
  for (const auto& [key, activity] : by_key)
    top.push_back(&activity);
  const auto middle = top.begin() + static_cast<std::ptrdiff_t>(std::min(count, top.size()));
  std::partial_sort(top.begin(), middle, top.end(), [](const Activity* one, const Activity* other) {
    return one->sum.transitions > other->sum.transitions;
  });
  top.erase(middle, top.end());
  Json requests = Json::array();
  for (const Activity* each : top) {
    const RequestActivity& sum = each->sum;
    const auto& routes = sources.installation.settings.routes;
    Json json{{"url", sum.url + (sum.is_cut ? "..." : "")},
              {"method", sum.is_head ? "HEAD" : "GET"},
              {"route", sum.route < routes.size() ? routes[sum.route].name : ""}};
    add_json(json, *each, now_seconds);
    requests.push_back(std::move(json));
  }
  return {{"requests", std::move(requests)}};
}

}  // namespace prophecy::sketcher
