#include "sketcher/group_context.hpp"

#include "replica_client/pbft_group.hpp"
#include "replica_client/vote_group.hpp"
#include "sketcher/origin_settings.hpp"
#include "sketcher/request_line.hpp"

namespace prophecy::sketcher {
namespace {

constexpr Duration kLeakInterval = std::chrono::minutes(1);
constexpr std::size_t kToldFieldBytesMax = 64;
// As many as the master keeps, and what a log bears.
constexpr std::uint32_t kEvidenceAtOnce = 1000;
constexpr Duration kEvidenceInterval = milliseconds(100);

std::vector<http::OriginSettings> origins_of(const GroupEnvironment& environment,
                                             const GroupSettings& settings,
                                             const GroupInstallation& installation) {
  auto origins = origin_settings(environment.settings, settings, installation);
  for (http::OriginSettings& origin : origins)
    origin.bodies = &environment.bodies;
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

GroupContext::GroupContext(const GroupEnvironment& environment, const GroupSettings& settings,
                           const GroupInstallation& installation, GroupState& state,
                           WriteFloors floors, std::span<OriginCounters> origins)
    : settings_(settings),
      installation_(installation),
      state_(state),
      floors_(floors),
      origins_(origins),
      divergences_(environment.divergences),
      log_(environment.log),
      activity_(environment.activity),
      fields_(field_counters(environment, installation)),
      leaks_(settings.origins.size()),
      evidence_(settings.origins.size(), ReportRate(kEvidenceAtOnce, kEvidenceInterval)),
      group_(make_group(environment)),
      canonicalizer_(installation.profile, fields_) {}

std::unique_ptr<replica_client::ReplicaGroup> GroupContext::make_group(
    const GroupEnvironment& environment) {
  replica_client::RefutationHandler& refutations = *this;
  if (installation_.pbft) {
    return std::make_unique<replica_client::PbftGroup>(
        environment.loop, pbft_settings(environment, settings_, installation_),
        installation_.pbft->keys, environment.origin_timeouts, refutations, environment.log);
  }
  return std::make_unique<replica_client::VoteGroup>(
      environment.loop, vote_settings(environment, settings_, installation_), installation_.profile,
      environment.origin_timeouts, state_.numbers->votes, refutations);
}

std::optional<Sketch> GroupContext::sketch_of(const sketch::AnswerForm& form) const {
  if (!sketch::may_be_sketched(form, profile())) return std::nullopt;
  return sketch().of(form);
}

void GroupContext::on_compared(const Sketch& key, bool transition) {
  activity_.on_compared(key, transition, activity_seconds(std::chrono::steady_clock::now()));
}

// Of a group with an order, all that was placed until now: where it began anew meanwhile, answers
// of before may have greater numbers than the write. Twice: an import begins numbers anew, and then
// has each floor that it finds raised cover its entries, too.
void GroupContext::make_out_of_date(std::string_view authority, std::string_view target) {
  floors_.raise_unordered(floors_.slot_of(authority, target), [this] {
    return settings_.kind == GroupKind::vote ? state_.numbers->votes.next() : order().newest();
  });
}

void GroupContext::on_refuted(const replica_client::Refutation& refutation) {
  Divergence divergence;
  divergence.kind =
      settings_.kind == GroupKind::vote ? DivergenceKind::vote : DivergenceKind::replicated;
  divergence.replica = refutation.replica;
  const RequestLine line = parse_request_line(refutation.request_head);
  divergence.method = line.method;
  divergence.target = line.target;
  divergence.authority = line.authority;
  divergence.answer_digest = to_hex(refutation.vote_digest);
  divergence.agreed_digest = to_hex(refutation.agreed_digest);
  report(divergence);
  if (refutation.vote_status >= 500) counters(refutation.replica).server_errors.add();
}

std::optional<NodeId> GroupContext::draw(SecureRandom& random, ReplicaSet tried) const {
  const ReplicaSet all = replica_client::all_of(group_->size());
  const ReplicaSet from = replica_client::candidates(all, state_.health.drawable(), tried);
  if (from == 0) return std::nullopt;
  return replica_client::draw(from, [&](std::uint32_t bound) { return random.below(bound); });
}

std::optional<NodeId> GroupContext::draw_healthy(SecureRandom& random, ReplicaSet tried) const {
  return draw(random, tried | ~state_.health.drawable());
}

void GroupContext::report(Divergence& divergence) {
  const std::string origin = to_string(settings_.origins[divergence.replica].address);
  divergence.group = settings_.name;
  divergence.origin = origin;
  OriginCounters& origin_counters = counters(divergence.replica);
  origin_counters.divergences.add();
  if (divergence.answer_status >= 500) origin_counters.server_errors.add();
  if (!evidence_[divergence.replica].take(std::chrono::steady_clock::now())) {
    return divergences_.withhold();
  }
  divergences_.report(divergence);
}

void GroupContext::report_shadow(Divergence& divergence, const Endpoint& address) {
  const std::string origin = to_string(address);
  divergence.group = settings_.name;
  divergence.origin = origin;
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
