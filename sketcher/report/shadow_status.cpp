#include "sketcher/report/shadow_status.hpp"

#include <nlohmann/json.hpp>

#include "http/metrics/status_rows.hpp"
#include "sketcher/shared/totals.hpp"

namespace prophecy::sketcher {
namespace {

using http::ExchangeEnd;

// Of one shadow in all workers.
std::vector<const ShadowCounters*> blocks_of(const SharedState& shared, const GroupSettings& group,
                                             const ShadowSettings& shadow) {
  return blocks_of_workers(shared, [&](std::uint32_t worker) -> const ShadowCounters& {
    return shared.shadows(worker)[group.first_shadow + shadow.origin.replica];
  });
}

}  // namespace

void add_shadows(nlohmann::ordered_json& list, const GroupSettings& group,
                 const SharedState& shared) {
  for (const ShadowSettings& shadow : group.shadows) {
    const auto blocks = blocks_of(shared, group, shadow);
    nlohmann::ordered_json json{{"group", group.name},
                                {"shadow", shadow.origin.replica},
                                {"address", to_string(shadow.origin.address)},
                                {"share", shadow.share}};
    http::add_rows(json, kShadowTable, blocks);
    std::uint64_t failed = 0;
    auto failures = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < http::kExchangeEndCount; ++i) {
      const auto end = static_cast<ExchangeEnd>(i);
      if (end == ExchangeEnd::answered) continue;
      std::uint64_t count = 0;
      for (const ShadowCounters* block : blocks)
        count += block->exchanges[i].get();
      failures[std::string(http::to_string(end))] = count;
      failed += count;
    }
    json["failed"] = failed;
    json["failures"] = std::move(failures);
    list.push_back(std::move(json));
  }
}

void add_shadows(http::Exposition& out, const GroupSettings& group, const SharedState& shared) {
  for (const ShadowSettings& shadow : group.shadows) {
    const auto blocks = blocks_of(shared, group, shadow);
    const http::Exposition::Labels labels{{"group", group.name},
                                          {"shadow", std::to_string(shadow.origin.replica)},
                                          {"address", to_string(shadow.origin.address)}};
    out.add(kShadowTable, labels, blocks);
    out.add(kShadowExchangeTable, labels, blocks);
  }
}

void describe_shadows(http::MetricDescriptions& out) {
  out.add(kShadowTable);
  out.add(kShadowExchangeTable);
}

}  // namespace prophecy::sketcher
