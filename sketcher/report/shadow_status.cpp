#include "sketcher/report/shadow_status.hpp"

#include <nlohmann/json.hpp>

namespace prophecy::sketcher {
namespace {

using http::ExchangeEnd;

// Of one shadow in all workers.
class ShadowTotals {
 public:
  ShadowTotals(const SharedState& shared, std::uint32_t shadow) {
    for (std::uint32_t worker = 0; worker < shared.shape().workers; ++worker)
      blocks_.push_back(&shared.shadows(worker)[shadow]);
  }
  [[nodiscard]] std::uint64_t of(Counter ShadowCounters::*member) const {
    std::uint64_t total = 0;
    for (const ShadowCounters* block : blocks_)
      total += (block->*member).get();
    return total;
  }
  [[nodiscard]] std::uint64_t of(ExchangeEnd end) const {
    std::uint64_t total = 0;
    for (const ShadowCounters* block : blocks_)
      total += block->exchanges[static_cast<std::size_t>(end)].get();
    return total;
  }

 private:
  std::vector<const ShadowCounters*> blocks_;
};

}  // namespace

void add_shadows(nlohmann::ordered_json& list, const GroupSettings& group,
                 const SharedState& shared) {
  for (const ShadowSettings& shadow : group.shadows) {
    const ShadowTotals totals(shared, group.first_shadow + shadow.origin.replica);
    nlohmann::ordered_json json{{"group", group.name},
                                {"shadow", shadow.origin.replica},
                                {"address", to_string(shadow.origin.address)},
                                {"share", shadow.share}};
    for (const auto& [name, member] : kShadowCounters)
      json[std::string(name)] = totals.of(member);
    std::uint64_t failed = 0;
    auto failures = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < http::kExchangeEndCount; ++i) {
      const auto end = static_cast<ExchangeEnd>(i);
      if (end == ExchangeEnd::answered) continue;
      failures[std::string(http::to_string(end))] = totals.of(end);
      failed += totals.of(end);
    }
    json["failed"] = failed;
    json["failures"] = std::move(failures);
    list.push_back(std::move(json));
  }
}

void add_shadows(http::Exposition& out, const GroupSettings& group, const SharedState& shared) {
  for (const ShadowSettings& shadow : group.shadows) {
    const ShadowTotals totals(shared, group.first_shadow + shadow.origin.replica);
    const http::Exposition::Labels labels{{"group", group.name},
                                          {"shadow", std::to_string(shadow.origin.replica)},
                                          {"address", to_string(shadow.origin.address)}};
    for (const auto& [name, member] : kShadowCounters) {
      http::Exposition::Labels with_result = labels;
      with_result["result"] = std::string(name);
      out.counter("prophecy_shadow_reads_total", "Reads for a shadow by what came of them.",
                  with_result, totals.of(member));
    }
    for (std::size_t i = 0; i < http::kExchangeEndCount; ++i) {
      http::Exposition::Labels with_end = labels;
      with_end["end"] = http::to_string(static_cast<ExchangeEnd>(i));
      out.counter("prophecy_shadow_exchanges_total",
                  "Copied reads by how the exchange with the shadow ended.", with_end,
                  totals.of(static_cast<ExchangeEnd>(i)));
    }
  }
}

}  // namespace prophecy::sketcher
