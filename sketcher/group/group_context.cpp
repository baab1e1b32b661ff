#include "sketcher/group/group_context.hpp"

#include "replica_client/pbft_group.hpp"
#include "replica_client/vote_group.hpp"
#include "sketcher/installation/origin_settings.hpp"

namespace prophecy::sketcher {
namespace {

constexpr Duration kLeakInterval = std::chrono::minutes(1);
constexpr std::size_t kToldFieldBytesMax = 64;

std::vector<http::OriginSettings> origins_of(const GroupEnvironment& environment,
                                             const GroupSettings& settings,
                                             const GroupInstallation& installation) {
  auto origins = origin_settings(environment.settings, settings, installation);
  for (http::OriginSettings& origin : origins) {
    origin.bodies = &environment.bodies;
    origin.coming = &environment.coming;
  }
  return origins;
}

replica_client::PbftGroupSettings pbft_settings(const GroupEnvironment& environment,
                                                const GroupSettings& settings,
                                                const GroupInstallation& installation) {
  replica_client::PbftGroupSettings group;
  group.client.faults = installation.pbft->group.faults;
  group.client.session_count = settings.sessions;
  group.client.first_session = environment.worker * settings.sessions;
  group.client.queue_max = settings.queue_max;
  group.client.linearizable_reads = settings.linearizable_reads;
  group.client.tentative_execution = settings.tentative_execution;
  group.client.first_timestamp = environment.first_timestamp;
  group.replicated_deadline = settings.deadline;
  group.key_refresh_interval = settings.key_refresh_interval;
  for (const auto& replica : installation.pbft->group.replicas)
    group.agents.push_back(replica.address);
  group.links = installation.pbft->links;
  group.origins = origins_of(environment, settings, installation);
  return group;
}

sketch::FieldCounters field_counters(const GroupEnvironment& environment,
                                     const GroupInstallation& installation) {
  const std::span<Counter> all = environment.shared.fields(environment.worker);
  return {.known = all.subspan(installation.first_field, installation.profile.rule_count()),
          .unknown = &environment.shared.unknown_fields(environment.worker)};
}

replica_client::VoteGroupSettings vote_settings(const GroupEnvironment& environment,
                                                const GroupSettings& settings,
                                                const GroupInstallation& installation) {
  replica_client::VoteGroupSettings group;
  group.faults = settings.faults;
  group.takes_writes = settings.takes_writes;
  group.ballots_max = settings.queue_max;
  group.age_max = environment.settings.timeouts.total;
  group.origins = origins_of(environment, settings, installation);
  group.fields = field_counters(environment, installation);
  return group;
}

}  // namespace

GroupContext::GroupContext(const GroupEnvironment& environment, HistoryTable& table,
                           const GroupSettings& settings, const GroupInstallation& installation,
                           GroupState& state, WriteFloors floors, std::span<OriginCounters> origins)
    : settings_(settings),
      installation_(installation),
      origins_(origins),
      divergences_(environment.divergences),
      log_(environment.log),
      leaks_(settings.origins.size()),
      evidence_(settings.origins.size(), ReportRate(kReportsAtOnce, kReportInterval)),
      shadow_evidence_(settings.shadows.size(), ReportRate(kReportsAtOnce, kReportInterval)),
      core_({.table = table,
             .floors = floors,
             .order = state.numbers->order,
             .votes = settings.kind == GroupKind::vote ? &state.numbers->votes : nullptr,
             .activity = environment.activity,
             .profile = installation.profile,
             .sketch = installation.sketch,
             .fields = field_counters(environment, installation),
             .health = state.health,
             .origins = origins,
             .faults = installation.pbft ? installation.pbft->group.faults : settings.faults,
             .dice = environment.dice,
             .reports = *this,
             .acceptance = environment.acceptance}),
      group_(make_group(environment, state)),
      calls_(core_, *group_) {}

std::unique_ptr<replica_client::ReplicaGroup> GroupContext::make_group(
    const GroupEnvironment& environment, GroupState& state) {
  replica_client::RefutationHandler& refutations = *this;
  if (installation_.pbft) {
    return std::make_unique<replica_client::PbftGroup>(
        environment.loop, pbft_settings(environment, settings_, installation_),
        installation_.pbft->keys, environment.origin_timeouts, refutations, environment.log);
  }
  return std::make_unique<replica_client::VoteGroup>(
      environment.loop, vote_settings(environment, settings_, installation_), installation_.profile,
      environment.origin_timeouts, state.numbers->votes, refutations);
}

void GroupContext::report(Divergence& divergence) {
  const std::string origin = to_string(settings_.origins[divergence.replica].address);
  divergence.group = settings_.name;
  divergence.origin = origin;
  counters(divergence.replica).divergences.add();
  if (!evidence_[divergence.replica].take(std::chrono::steady_clock::now())) {
    return divergences_.withhold();
  }
  divergences_.report(divergence);
}

void GroupContext::report_shadow(Divergence& divergence, const Endpoint& address) {
  const std::string origin = to_string(address);
  divergence.group = settings_.name;
  divergence.origin = origin;
  if (!shadow_evidence_[divergence.replica].take(std::chrono::steady_clock::now())) {
    return divergences_.withhold();
  }
  divergences_.report(divergence);
}

void GroupContext::on_leak(NodeId replica, std::string_view field) {
  Leaks& leaks = leaks_[replica];
  ++leaks.untold;
  const TimePoint now = std::chrono::steady_clock::now();
  if (now < leaks.told_again) return;
  log_.warning("internal-field-leaked", {{"group", settings_.name},
                                         {"origin", to_string(settings_.origins[replica].address)},
                                         {"field", field.substr(0, kToldFieldBytesMax)},
                                         {"answers", std::exchange(leaks.untold, 0)}});
  leaks.told_again = now + kLeakInterval;
}

void GroupContext::on_vote(NodeId replica, http::ExchangeEnd end) {
  counters(replica).votes[static_cast<std::size_t>(end)].add();
}

}  // namespace prophecy::sketcher
