#include "sketcher/report/ring_status.hpp"

#include <nlohmann/json.hpp>

#include "http/metrics/status_rows.hpp"
#include "sketcher/shared/totals.hpp"

namespace prophecy::sketcher {
namespace {

using Json = nlohmann::ordered_json;

constexpr Metric kPartitionsMetric =
    gauge_metric("prophecy_member_partitions", "partitions",
                 "Partitions of the history that a member of the ring owns, as this one knows.")
        .by("member", "Of 4096. The status has it as `ring.members[].partitions`.");

std::vector<const MemberCounters*> blocks_of(const SharedState& shared, dht::MemberSlot slot) {
  return blocks_of_workers(shared, [&](std::uint32_t worker) -> const MemberCounters& {
    return shared.members(worker)[slot];
  });
}

// By slot, and at the end those without an owner.
std::array<std::uint32_t, MemberDirectory::kSlots + 1> count_partitions(const SharedState& shared) {
  std::array<std::uint32_t, MemberDirectory::kSlots + 1> counts{};
  for (Partition partition = 0; partition < kPartitions; ++partition) {
    const dht::OwnerWord word = shared.ring().permissions.owner(partition);
    const bool is_known = word.stage() != dht::Stage::unknown && word.slot() < counts.size() - 1;
    ++counts[is_known ? word.slot() : counts.size() - 1];
  }
  return counts;
}

}  // namespace

nlohmann::ordered_json ring_json(const RingSettings& settings, const SharedState& shared,
                                 const nlohmann::json& report) {
  const auto counts = count_partitions(shared);
  Json members = Json::array();
  for (dht::MemberSlot slot = 0; slot < MemberDirectory::kSlots; ++slot) {
    const auto member = shared.ring().members.find(slot);
    if (!member) continue;
    Json addresses = Json::array();
    for (const MemberAddress& address : member->addresses)
      addresses.push_back(to_string(Endpoint{address.address.to_string(), address.port}));
    Json json{
        {"name", member->name}, {"addresses", std::move(addresses)}, {"partitions", counts[slot]}};
    http::add_rows(json, kMemberTable, blocks_of(shared, slot));
    members.push_back(std::move(json));
  }
  Json json{{"name", settings.name},
            {"partitions_without_owner", counts.back()},
            {"members", std::move(members)}};
  if (!settings.living) return json;
  http::add_rows(json, kRingTable, shared.ring().counters);
  json["process"] = report;
  return json;
}

void add_ring(http::Exposition& out, const SharedState& shared) {
  const auto counts = count_partitions(shared);
  out.add(kRingTable, {}, shared.ring().counters);
  for (dht::MemberSlot slot = 0; slot < MemberDirectory::kSlots; ++slot) {
    const auto member = shared.ring().members.find(slot);
    if (!member) continue;
    out.add(kPartitionsMetric, {}, member->name, counts[slot]);
    out.add(kMemberTable, {{"member", member->name}}, blocks_of(shared, slot));
  }
}

void describe_ring(http::MetricDescriptions& out) {
  out.add(kPartitionsMetric, "");
  out.add(kMemberTable);
  out.add(kRingTable);
}

}  // namespace prophecy::sketcher
