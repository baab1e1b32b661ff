#include "sketcher/health/monitor.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

#include "base/assert.hpp"
#include "sketcher/installation/staleness_bound.hpp"

namespace prophecy::sketcher {

using replica_client::CheckOutcome;
using replica_client::GroupHealth;
using replica_client::OriginState;

namespace {

// How often the workers' counters are looked at.
constexpr Duration kInterval = milliseconds(200);
constexpr std::size_t kReasonBytesMax = 200;

bool is_reason(std::string_view text) {
  return text.size() <= kReasonBytesMax && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

std::string detail_of(const CheckReport& report) {
  const auto outcome = static_cast<CheckOutcome>(report.outcome);
  std::string detail(to_string(outcome));
  if (outcome == CheckOutcome::wrong_status) detail += " " + std::to_string(report.status);
  return detail;
}

}  // namespace

HealthMonitor::HealthMonitor(boost::asio::io_context& loop, const Installation& installation,
                             const SharedState& shared, Logger& log)
    : settings_(installation.settings), shared_(shared), log_(log), timer_(loop) {
  for (std::size_t i = 0; i < settings_.groups.size(); ++i) {
    const GroupSettings& group = settings_.groups[i];
    std::vector<std::uint32_t> weights;
    for (const OriginAddress& origin : group.origins)
      weights.push_back(origin.weight);
    groups_.push_back(
        {GroupHealth(weights, health_rules(group, installation.groups[i]), TimePoint::clock::now()),
         std::vector<EvidenceReader>(weights.size())});
  }
}

void HealthMonitor::start() {
  // The weights hold from the first read on.
  for (std::uint32_t i = 0; i < groups_.size(); ++i)
    publish(i, TimePoint::clock::now());
  wait();
}

void HealthMonitor::wait() {
  timer_.expires_after(kInterval);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    look();
    wait();
  });
}

void HealthMonitor::look() {
  const TimePoint time = TimePoint::clock::now();
  for (std::uint32_t i = 0; i < groups_.size(); ++i) {
    Group& group = groups_[i];
    for (NodeId replica = 0; replica < group.health.size(); ++replica) {
      const OriginTotals totals =
          origin_totals(shared_, settings_.groups[i].first_origin + replica);
      group.health.on_evidence(replica, group.evidence[replica].read(totals), time);
    }
    group.health.on_time(time);
    follow(i);
  }
}

void HealthMonitor::on_check(const CheckReport& report) {
  if (report.group >= groups_.size() || report.replica >= groups_[report.group].health.size()) {
    return log_.warning("check-report-refused");
  }
  const bool passed = static_cast<CheckOutcome>(report.outcome) == CheckOutcome::passed;
  groups_[report.group].health.on_check(report.replica, passed, detail_of(report),
                                        TimePoint::clock::now());
  follow(report.group);
}

Result<> HealthMonitor::set(std::string_view group, std::uint64_t replica,
                            replica_client::OriginChange change) {
  const auto found = std::find_if(settings_.groups.begin(), settings_.groups.end(),
                                  [&](const GroupSettings& each) { return each.name == group; });
  if (found == settings_.groups.end() || replica >= found->origins.size()) {
    return Error{ErrorKind::invalid, "there is no such origin"};
  }
  if (!is_reason(change.reason)) {
    return Error{ErrorKind::invalid, "expected a reason of at most 200 bytes on one line"};
  }
  const auto index = static_cast<std::uint32_t>(found - settings_.groups.begin());
  GroupHealth& health = groups_[index].health;
  const auto id = static_cast<NodeId>(replica);
  const std::uint32_t weight = health.weight(id);
  auto set = health.set(id, std::move(change), TimePoint::clock::now());
  if (!set) return set;
  if (health.weight(id) != weight) {
    log_.warning("origin-weight", {{"group", found->name},
                                   {"replica", id},
                                   {"address", to_string(found->origins[id].address)},
                                   {"from", weight},
                                   {"to", health.weight(id)}});
  }
  follow(index);
  return set;
}

double HealthMonitor::staleness_share(std::string_view group) const {
  const auto found = std::find_if(settings_.groups.begin(), settings_.groups.end(),
                                  [&](const GroupSettings& each) { return each.name == group; });
  ASSERT(found != settings_.groups.end());
  const GroupHealth& health = of(*found);
  return health.largest_share(health.shares(TimePoint::clock::now()));
}

void HealthMonitor::follow(std::uint32_t index) {
  Group& group = groups_[index];
  const GroupSettings& settings = settings_.groups[index];
  for (const GroupHealth::Change& change : group.health.take_changes()) {
    const auto write = change.to == OriginState::ready ? &Logger::info : &Logger::warning;
    (log_.*write)("origin-state", {{"group", settings.name},
                                   {"replica", change.replica},
                                   {"address", to_string(settings.origins[change.replica].address)},
                                   {"from", to_string(change.from)},
                                   {"to", to_string(change.to)},
                                   {"reason", group.health.origin(change.replica).reason()}});
  }
  if (group.kept != group.health.kept()) {
    group.kept = group.health.kept();
    log_.warning("origins-kept", {{"group", settings.name},
                                  {"kept", std::popcount(group.kept)},
                                  {"reason", "too many are out"}});
  }
  publish(index, TimePoint::clock::now());
}

void HealthMonitor::publish(std::uint32_t index, TimePoint time) {
  const GroupHealth& health = groups_[index].health;
  HealthView& view = shared_.group(index).health;
  view.publish_shares(health.shares(time), health.size());
  view.publish(health.drawable(), health.unchecked(), health.cut());
}

}  // namespace prophecy::sketcher
