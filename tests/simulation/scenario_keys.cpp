#include "simulation/scenario_keys.hpp"

#include "simulation/random.hpp"
#include "simulation/scenario_calm.hpp"
#include "simulation/scenario_planner.hpp"

namespace prophecy::simulation {
namespace {

constexpr std::uint64_t kHealedMs = 5000;
constexpr std::uint64_t kThiefFromMs = 3500;

Ingredient& add(Scenario& scenario, IngredientKind kind) {
  Ingredient ingredient;
  ingredient.kind = kind;
  return scenario.ingredients.emplace_back(ingredient);
}

void plan_calls(Scenario& scenario, Random& random) {
  for (NodeId client = 0; client < scenario.clients; ++client) {
    for (std::uint64_t ms = 0; ms + 700 < kHealedMs; ms += 700) {
      Ingredient& calls = add(scenario, IngredientKind::calls);
      calls.node = kFirstClientId + client;
      calls.count = static_cast<std::uint32_t>(random.between(1, 5));
      calls.from = at(ms + random.below(300));
      calls.until = calls.from + milliseconds(random.between(50, 600));
    }
  }
}

}  // namespace

void set_new_keys_scene(Scenario& scenario) {
  Random random(scenario.seed, kPurposeNewKeys);
  static_cast<void>(random.next());  // by which the scene was drawn
  set_calm_scene(scenario);
  // No bodies, and no loss: a replica that came by a checkpoint's state through a transfer has made
  // no claim about it, which may be the one that a void certificate lacks.
  std::erase_if(scenario.ingredients, [](const Ingredient& ingredient) {
    return ingredient.kind == IngredientKind::misconduct ||
           ingredient.kind == IngredientKind::large_operations;
  });
  scenario.healed = at(kHealedMs);
  plan_calls(scenario, random);
  const auto node = static_cast<NodeId>(random.below(scenario.replicas()));
  const std::uint64_t from = random.between(300, 1000);
  const bool has_thief = scenario.canary != Canary::none || random.chance(60);
  if (has_thief) {
    Ingredient& thief = add(scenario, IngredientKind::stolen_key);
    thief.node = node;
    // When most have the later file: one that is behind a checkpoint which the thief's signature
    // has made stable, and which f correct ones lack, may find no proof of it under the later file.
    thief.from = at(kThiefFromMs + random.below(1000));
  }
  Ingredient& keys = add(scenario, IngredientKind::new_keys);
  keys.node = node;
  keys.from = at(from);
  keys.until = at(from + random.between(1500, 2500));
  keys.offset = milliseconds(random.between(20, 250));
  keys.is_hasty = random.chance(40) && !has_thief;  // docs/new-keys.md, step 4
  keys.is_elsewhere = random.chance(50);
  if (scenario.faults < 2 || !random.chance(50)) return;
  // Of the other f - 1.
  Ingredient& liar = add(scenario, IngredientKind::misconduct);
  liar.node = (node + 1) % scenario.replicas();
  liar.behaviour = static_cast<BehaviourKind>(
      random.between(static_cast<std::uint64_t>(kFirstLie),
                     static_cast<std::uint64_t>(BehaviourKind::lying_keys) - 1));
}

}  // namespace prophecy::simulation
