#include "sketcher/ring/ring_report.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

namespace prophecy::sketcher {
namespace {

using Json = nlohmann::ordered_json;

std::int64_t in_milliseconds(dht::Span span) {
  return std::chrono::duration_cast<milliseconds>(span).count();
}

std::string hex(std::uint64_t number) {
  std::array<std::uint8_t, sizeof number> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(number >> (56 - 8 * i));
  return to_hex(bytes);
}

std::string_view state_of(const RingReportSources& sources) {
  const dht::Ring& ring = sources.ring;
  if (ring.view() == nullptr) return ring.is_connected() ? "joining" : "connecting";
  if (ring.is_draining()) return ring.is_drained() ? "drained" : "draining";
  const dht::Member* const self = dht::find_member(*ring.view(), ring.self().name);
  const bool is_member = self != nullptr && self->holder.instance == ring.self().instance;
  return is_member ? "member" : "joining";
}

Json members_json(const RingReportSources& sources, const dht::View& view) {
  const dht::Sightings& sightings = sources.ring.sightings();
  Json members = Json::array();
  for (std::size_t i = 0; i < view.members.size(); ++i) {
    const dht::Member& member = view.members[i];
    Json json{{"name", member.holder.name},
              {"instance", hex(member.holder.instance)},
              {"weight", member.holder.weight},
              {"oldest_step", member.steps.oldest},
              {"newest_step", member.steps.newest},
              {"partitions", i < sources.shares.size() ? sources.shares[i] : 0}};
    const auto sighting = sightings.find(member.holder.name);
    const bool is_seen =
        sighting != sightings.end() && sighting->second.record.instance == member.holder.instance;
    json["adopted_view"] = is_seen ? sighting->second.record.view : 0;
    json["settled_view"] = is_seen ? sighting->second.record.settled : 0;
    json["renewal_seen_ms_ago"] =
        is_seen ? Json(in_milliseconds(sources.now - sighting->second.seen)) : Json();
    members.push_back(std::move(json));
  }
  return members;
}

// Partitions of ours that may not be answered for yet, and why.
Json moving_json(const RingReportSources& sources) {
  const dht::Ownership& ownership = sources.ring.ownership();
  const auto waits = ownership.waits();
  return {{"waiting_for_clearing", waits.clearing},
          {"waiting_for_former_owners", waits.fence},
          {"former_owners", ownership.awaited(sources.ring.sightings())},
          {"waiting_for_group", waits.barrier},
          {"being_received", sources.fetching},
          {"to_be_given", ownership.to_give()}};
}

}  // namespace

std::vector<std::size_t> shares_of(const dht::View& view, std::size_t partitions) {
  const auto holders = dht::holders_of(view);
  const dht::Placement placement = dht::place(holders, partitions);
  std::vector<std::size_t> shares(holders.size());
  for (const dht::MemberIndex owner : placement.owners())
    ++shares[owner];
  return shares;
}

// Where nobody else has a weight, nobody takes anything.
bool shows_drained(const nlohmann::json& report) {
  if (!report.is_object()) return false;
  const std::string name = report.value("name", "");
  bool is_alone = true;
  for (const auto& member : report["members"]) {
    if (member.value("name", "") != name && member.value("weight", 0) > 0) is_alone = false;
  }
  return is_alone || !report.value("connected", false) || report.value("is_handed_over", false);
}

std::string ring_report(const RingReportSources& sources) {
  const dht::Ring& ring = sources.ring;
  const dht::View* const view = ring.view();
  const dht::Span left = sources.permissions.lease_end() - sources.now;
  Json json{{"name", ring.self().name},
            {"instance", hex(ring.self().instance)},
            {"state", state_of(sources)},
            {"connected", ring.is_connected()},
            {"is_handed_over", sources.is_handed_over},
            {"view", view == nullptr ? 0 : view->number},
            {"adopted_view", ring.ownership().adopted()},
            {"step", view == nullptr ? 0 : view->step},
            {"lease_ms", in_milliseconds(sources.settings.living->lease)},
            {"lease_ms_left", std::max<std::int64_t>(in_milliseconds(left), 0)},
            {"moving", moving_json(sources)},
            {"members", view == nullptr ? Json::array() : members_json(sources, *view)},
            {"settings_problem", sources.settings_problem.substr(0, kProblemBytesMax)},
            {"problems", Json::array()}};
  if (!sources.settings_problem.empty()) json["problems"].push_back(json["settings_problem"]);
  for (const auto& [path, problem] : ring.problems()) {
    if (json["problems"].size() == kProblemsMax) {
      json["problems"].push_back(std::to_string(ring.problems().size() - kProblemsMax) +
                                 " more; the log has them");
      break;
    }
    json["problems"].push_back(problem.substr(0, kProblemBytesMax));
  }
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace prophecy::sketcher
