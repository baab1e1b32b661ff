#include "consistency/group/pbft_plan.hpp"

#include "simulation/random.hpp"

namespace prophecy::consistency {
namespace {

using simulation::Ingredient;
using simulation::IngredientKind;

constexpr Duration kDeadline = seconds(10);
constexpr Duration kShortDeadline = milliseconds(400);
constexpr std::size_t kFewQueued = 1;

Ingredient share(IngredientKind kind, std::uint64_t percent) {
  Ingredient ingredient;
  ingredient.kind = kind;
  ingredient.percent = percent;
  return ingredient;
}

// The liar's agent breaks the protocol, from the beginning to the end.
Ingredient misconduct(const RunSettings& run, simulation::Random& random) {
  using simulation::BehaviourKind;
  // Session keys are not exchanged here, no write ends without an answer, and no client is faulty.
  constexpr auto kEnd = static_cast<std::uint64_t>(BehaviourKind::lying_keys);
  Ingredient ingredient;
  ingredient.kind = IngredientKind::misconduct;
  ingredient.node = static_cast<NodeId>(run.correct());
  ingredient.behaviour = static_cast<BehaviourKind>(random.below(kEnd));
  return ingredient;
}

pbft::ReplicaSettings plan_replica(const RunSettings& run, simulation::Random& random) {
  pbft::ReplicaSettings settings;
  settings.faults = static_cast<std::uint32_t>(run.faults);
  settings.batches_in_flight_max = static_cast<std::uint32_t>(random.between(1, 4));
  settings.partial_batches_in_flight_max =
      static_cast<std::uint32_t>(random.between(1, settings.batches_in_flight_max));
  settings.batch_requests_max = static_cast<std::uint32_t>(random.between(1, 6));
  settings.checkpoint_interval = random.between(2, 12);
  settings.window = settings.checkpoint_interval * random.between(2, 4);
  settings.retained_batches = random.chance(50) ? 512 : random.below(16);
  settings.status_interval = milliseconds(random.between(30, 60));
  settings.heartbeat_interval = milliseconds(random.between(300, 1000));
  settings.view_change_timeout = milliseconds(random.between(80, 500));
  settings.view_change_timeout_max = seconds(2);
  settings.tentative_execution = run.executes_ahead;
  return settings;
}

}  // namespace

simulation::Scenario plan_group(std::uint64_t seed, const RunSettings& run) {
  simulation::Random random(seed, simulation::kPurposeMachines);
  simulation::Scenario scenario;
  scenario.seed = seed;
  scenario.faults = static_cast<std::uint32_t>(run.faults);
  scenario.replica = plan_replica(run, random);
  scenario.ahead = UINT64_MAX;
  scenario.healed = TimePoint::max();
  auto& ingredients = scenario.ingredients;
  if (random.chance(50)) ingredients.push_back(share(IngredientKind::loss, random.between(1, 4)));
  if (random.chance(20)) ingredients.push_back(share(IngredientKind::lost_votes, 20));
  if (random.chance(30)) ingredients.push_back(share(IngredientKind::repetition, 4));
  if (random.chance(10)) ingredients.push_back(share(IngredientKind::corruption, 1));
  if (random.chance(50)) {
    ingredients.push_back(share(IngredientKind::lateness, random.between(1, 10)));
    ingredients.back().offset = milliseconds(random.between(5, 400));
  }
  if (run.has_bad_agent) ingredients.push_back(misconduct(run, random));
  // By PbftService, at any time: what follows from that is explained.
  ingredients.push_back(share(IngredientKind::restart, 0));
  scenario.number_ingredients();
  return scenario;
}

pbft::ClientSettings plan_client(const simulation::Scenario& scenario, const RunSettings& run) {
  pbft::ClientSettings settings;
  settings.faults = scenario.faults;
  if (run.has_few_calls) settings.queue_max = kFewQueued;
  settings.tentative_execution = run.executes_ahead;
  settings.retransmit_after = milliseconds(60);
  settings.retransmit_after_max = milliseconds(400);
  // Of a share of the groups all requests are ordered by digest.
  if (scenario.seed % 8 == 0) settings.inline_bytes_max = 16;
  return settings;
}

Duration plan_deadline(const RunSettings& run) {
  return run.has_short_deadlines ? kShortDeadline : kDeadline;
}

}  // namespace prophecy::consistency
