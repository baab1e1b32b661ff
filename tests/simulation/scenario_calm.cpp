#include "simulation/scenario_calm.hpp"

#include <algorithm>
#include <bit>

#include "simulation/random.hpp"
#include "simulation/scenario_keys.hpp"

namespace prophecy::simulation {
namespace {

constexpr std::uint64_t kCalmPercent = 12;
constexpr std::uint64_t kNoisyPercent = 50;  // of these
constexpr std::uint64_t kTurnsPercent = 6;
constexpr std::uint32_t kTurnsFaultsMax = 3;
constexpr std::uint64_t kFairPercent = 4;
constexpr std::uint64_t kNewKeysPercent = 3;
constexpr std::uint64_t kGreedyPercent = 2;
constexpr std::uint64_t kHaltedPercent = 2;
constexpr std::uint64_t kAbsentPercent = 3;
constexpr std::uint64_t kLargeBodiesPercent = 10;  // of these
constexpr std::uint64_t kWideLinksPercent = 25;    // of the calm ones
constexpr std::uint64_t kBadClientsEndMs = 1500;

std::uint64_t bit(NodeId node) {
  return std::uint64_t{1} << node;
}

void take_out(Scenario& scenario, IngredientKind kind) {
  std::erase_if(scenario.ingredients,
                [&](const Ingredient& ingredient) { return ingredient.kind == kind; });
}

NodeId draw_correct(const Scenario& scenario, Random& random) {
  NodeId node = 0;
  do {
    node = static_cast<NodeId>(random.below(scenario.replicas()));
  } while (contains(scenario.liars(), node));
  return node;
}

Ingredient& add_calls(Scenario& scenario, Random& random) {
  Ingredient& calls = scenario.ingredients.emplace_back();
  calls.kind = IngredientKind::calls;
  calls.node = kFirstClientId + static_cast<NodeId>(random.below(scenario.clients));
  calls.count = static_cast<std::uint32_t>(random.between(2, 10));
  return calls;
}

void add_lie(Scenario& scenario, NodeId node, BehaviourKind behaviour) {
  Ingredient lie;
  lie.kind = IngredientKind::misconduct;
  lie.node = node;
  lie.behaviour = behaviour;
  scenario.ingredients.push_back(lie);
}

BehaviourKind draw_lie(Random& random) {
  return static_cast<BehaviourKind>(
      random.between(static_cast<std::uint64_t>(kFirstLie),
                     static_cast<std::uint64_t>(BehaviourKind::lying_keys) - 1));
}

// So that f lie for as long as it lasts.
void fill_up_liars(Scenario& scenario, Random& random) {
  while (static_cast<std::uint32_t>(std::popcount(scenario.liars())) < scenario.faults) {
    const NodeId node = draw_correct(scenario, random);
    if (!random.chance(15)) {
      add_lie(scenario, node, draw_lie(random));
      continue;
    }
    Ingredient twins;
    twins.kind = IngredientKind::twins;
    twins.node = node;
    twins.offset = milliseconds(random.between(20, 400));
    scenario.ingredients.push_back(twins);
  }
}

// At one replica: where more honestly differ than 2f others agree, nobody could be repaired.
void add_noise(Scenario& scenario, Random& random) {
  const NodeId node = draw_correct(scenario, random);
  const auto add = [&](IngredientKind kind) {
    Ingredient noise;
    noise.kind = kind;
    noise.node = node;
    noise.nodes = bit(node);
    noise.from = TimePoint{} + milliseconds(random.below(500));
    noise.until = noise.from + milliseconds(random.between(50, 800));
    noise.percent = random.between(5, 100);
    scenario.ingredients.push_back(noise);
  };
  // f others lie: beside one that differs, no f+1 need be in the state that a third lacks. Its way
  // back are the batches, as long as they are retained (docs/protocol.md, "How it is tested").
  scenario.replica.retained_batches = pbft::ReplicaSettings().retained_batches;
  if (random.chance(70)) add(IngredientKind::noisy_state);
  if (random.chance(40)) add(IngredientKind::rotten_state);
  if (random.chance(40)) add(IngredientKind::noisy_answers);
}

// All links are narrow for good, and carry what correct replicas need.
void add_links(Scenario& scenario) {
  Random random(scenario.seed, kPurposeWideLinks);
  if (!random.chance(kWideLinksPercent)) return;
  Ingredient links;
  links.kind = IngredientKind::narrow_links;
  links.nodes = scenario.all_replicas();
  links.count = static_cast<std::uint32_t>(256 << random.below(4));
  links.offset = milliseconds(random.between(300, 1000));
  scenario.ingredients.push_back(links);
}

// All replicas read many frames before they answer any.
void add_turns(Scenario& scenario, Random& random) {
  Ingredient turns;
  turns.kind = IngredientKind::many_at_once;
  turns.nodes = scenario.all_replicas();
  turns.offset = microseconds(random.between(100, 5000));
  scenario.ingredients.push_back(turns);
}

// f replicas lie, lose their memory and come back; then f others do.
void take_turns(Scenario& scenario, Random& random) {
  take_out(scenario, IngredientKind::misconduct);
  scenario.healed = TimePoint{} + seconds(3);
  const auto at = [](std::uint64_t ms) { return TimePoint{} + milliseconds(ms); };
  const std::uint64_t first_ends = random.between(150, 500);
  std::uint64_t taken = 0;
  for (const std::uint32_t turn : {1U, 2U}) {
    for (std::uint32_t i = 0; i < scenario.faults; ++i) {
      NodeId node = 0;
      do {
        node = static_cast<NodeId>(random.below(scenario.replicas()));
      } while (contains(taken, node));
      taken |= bit(node);
      for (std::uint64_t lies = random.between(1, 3); lies > 0; --lies) {
        add_lie(scenario, node, draw_lie(random));
        Ingredient& lie = scenario.ingredients.back();
        lie.turn = turn;
        if (turn == 1) lie.until = at(first_ends);
        if (turn == 2) lie.from = at(first_ends + 200);
      }
      if (turn == 2) continue;
      Ingredient lost;
      lost.kind = IngredientKind::lost_disk;
      lost.node = node;
      lost.turn = turn;
      lost.from = at(first_ends);
      lost.until = lost.from + milliseconds(random.between(10, 200));
      scenario.ingredients.push_back(lost);
    }
  }
  for (std::uint32_t i = 0; i < 3; ++i) {
    Ingredient& calls = add_calls(scenario, random);
    calls.from = at(random.between(first_ends, 2000));
    calls.until = calls.from + milliseconds(random.between(50, 900));
  }
  if (random.chance(50)) {
    Ingredient loss;
    loss.kind = IngredientKind::loss;
    loss.percent = random.between(1, 15);
    scenario.ingredients.push_back(loss);
  }
}

}  // namespace

void set_calm_scene(Scenario& scenario) {
  const std::uint64_t liars = scenario.liars();
  std::erase_if(scenario.ingredients, [&](const Ingredient& ingredient) {
    switch (ingredient.kind) {
      case IngredientKind::calls:
      case IngredientKind::large_results:
      case IngredientKind::large_operations:
      case IngredientKind::clock:
        return false;
      case IngredientKind::misconduct:  // not the ones that change places
        return !contains(liars, ingredient.node);
      default:
        return true;
    }
  });
}

void set_fair_scene(Scenario& scenario, bool has_large_bodies) {
  Random random(scenario.seed, kPurposeFairness);
  set_calm_scene(scenario);
  take_out(scenario, IngredientKind::misconduct);
  // No shorter than it takes to repeat what a client has sent to some replicas alone.
  scenario.replica.view_change_timeout = milliseconds(random.between(250, 500));
  const auto last = static_cast<std::uint64_t>(BadClientKind::lone_bodies);
  for (std::uint64_t several = random.between(1, 4); several > 0; --several) {
    Ingredient client;
    client.kind = IngredientKind::bad_client;
    client.node = kFirstClientId + 3 + static_cast<NodeId>(random.below(2));
    client.bad_client = static_cast<BadClientKind>(has_large_bodies ? last : random.below(last));
    client.from = TimePoint{} + milliseconds(random.below(500));
    client.until = TimePoint{} + milliseconds(random.between(600, kBadClientsEndMs));
    scenario.ingredients.push_back(client);
    if (has_large_bodies) break;
  }
  Random accomplices(scenario.seed, kPurposeAccomplices);
  if (!has_large_bodies && accomplices.chance(20)) {
    Ingredient client = scenario.ingredients.back();
    client.bad_client = BadClientKind::shared_session;
    scenario.ingredients.push_back(client);
  }
  Random turns(scenario.seed, kPurposeTurns);
  if (turns.chance(40)) add_turns(scenario, turns);
  if (!has_large_bodies) return add_links(scenario);
  scenario.replica.log_bytes_max = pbft::ReplicaSettings().log_bytes_max;
  scenario.replica.checkpoint_bytes = pbft::ReplicaSettings().checkpoint_bytes;
}

void set_greedy_scene(Scenario& scenario) {
  Random random(scenario.seed, kPurposeGreed);
  set_calm_scene(scenario);
  take_out(scenario, IngredientKind::misconduct);
  take_out(scenario, IngredientKind::large_operations);
  scenario.replica.view_change_timeout = milliseconds(random.between(250, 500));
  scenario.replica.queue_requests_max = random.between(40, 160);
  // Each backup may wait for another request of a client. In half a time-out there is to be a turn
  // for all of them.
  scenario.replica.batches_in_flight_max = std::max(scenario.replica.batches_in_flight_max, 2U);
  scenario.replica.batch_requests_max =
      std::max(scenario.replica.batch_requests_max, 2 * scenario.replicas());
  for (NodeId greedy = 0; greedy < 2; ++greedy) {
    Ingredient client;
    client.kind = IngredientKind::bad_client;
    client.node = kFirstClientId + 3 + greedy;
    client.bad_client = BadClientKind::greedy;
    client.from = TimePoint{} + milliseconds(random.below(200));
    client.until = TimePoint{} + milliseconds(random.between(600, kBadClientsEndMs));
    scenario.ingredients.push_back(client);
  }
}

void set_halted_scene(Scenario& scenario) {
  Random random(scenario.seed, kPurposeHalts);
  set_calm_scene(scenario);
  take_out(scenario, IngredientKind::misconduct);
  scenario.replica.view_change_timeout = milliseconds(random.between(250, 500));
  std::uint64_t from_ms = 0;
  for (std::uint64_t halts = random.between(1, 3); halts > 0; --halts) {
    Ingredient& halted = scenario.ingredients.emplace_back();
    halted.kind = IngredientKind::halted;
    halted.nodes = scenario.all_replicas();
    from_ms += random.between(20, 500);
    halted.from = TimePoint{} + milliseconds(from_ms);
    from_ms += random.between(100, 1000);
    halted.until = TimePoint{} + milliseconds(from_ms);
  }
}

// More is written meanwhile than the log holds. In half of them, replicas are started again before
// their services are there.
void set_absent_scene(Scenario& scenario) {
  Random random(scenario.seed, kPurposeAbsence);
  set_calm_scene(scenario);
  take_out(scenario, IngredientKind::misconduct);
  const std::uint64_t all = scenario.all_replicas();
  const auto draw_some = [&] { return random.chance(60) ? all : random.between(1, all); };
  if (random.chance(70)) {
    scenario.replica.checkpoint_interval = 1;
    scenario.replica.checkpoint_bytes = 1;
    scenario.replica.batch_requests_max = 1;
    scenario.replica.log_bytes_max = random.between(1500, 4000);
    scenario.replica.body_cost = kSimulatedBodyCost;
  }
  Ingredient lost;
  lost.kind = IngredientKind::lost_services;
  lost.nodes = draw_some();
  lost.from = TimePoint{} + milliseconds(random.between(20, 400));
  lost.until = lost.from + milliseconds(random.between(50, 500));
  scenario.ingredients.push_back(lost);
  for (std::uint32_t i = 0; i < 3; ++i) {
    Ingredient& calls = add_calls(scenario, random);
    calls.from = lost.from;
    calls.until = lost.until;
  }
  if (random.chance(50)) return;
  Ingredient dark;
  dark.kind = IngredientKind::power_loss;
  dark.nodes = draw_some();
  dark.from = lost.from + milliseconds(random.below(400));
  dark.until = dark.from + milliseconds(random.between(5, 100));
  scenario.ingredients.push_back(dark);
}

void set_scene(Scenario& scenario) {
  if (Random(scenario.seed, kPurposeHalts).chance(kHaltedPercent)) {
    return set_halted_scene(scenario);
  }
  if (Random(scenario.seed, kPurposeAbsence).chance(kAbsentPercent)) {
    return set_absent_scene(scenario);
  }
  const bool has_new_keys = Random(scenario.seed, kPurposeNewKeys).chance(kNewKeysPercent);
  if (has_new_keys && !scenario.has_real_keys()) return set_new_keys_scene(scenario);
  Random fairness(scenario.seed, kPurposeFairness);
  if (fairness.chance(kFairPercent)) {
    return set_fair_scene(scenario, fairness.chance(kLargeBodiesPercent));
  }
  if (fairness.chance(kGreedyPercent)) return set_greedy_scene(scenario);
  Random random(scenario.seed, kPurposeScene);
  if (random.chance(kTurnsPercent) && scenario.faults <= kTurnsFaultsMax) {
    set_calm_scene(scenario);
    return take_turns(scenario, random);
  }
  if (!random.chance(kCalmPercent)) return;
  set_calm_scene(scenario);
  if (random.chance(60)) {
    std::erase_if(scenario.ingredients, [](const Ingredient& ingredient) {
      return ingredient.kind == IngredientKind::large_operations;
    });
  }
  const bool is_noisy = random.chance(kNoisyPercent);
  if (is_noisy && random.chance(50)) {
    add_lie(scenario, draw_correct(scenario, random), BehaviourKind::siding_roots);
    while (static_cast<std::uint32_t>(std::popcount(scenario.liars())) > scenario.faults) {
      scenario.ingredients.pop_back();
    }
  }
  fill_up_liars(scenario, random);
  if (is_noisy) add_noise(scenario, random);
  add_links(scenario);
}

void set_changing_scene(Scenario& scenario) {
  Random random(scenario.seed, kPurposeScene);
  set_calm_scene(scenario);
  take_turns(scenario, random);
}

void set_turns_scene(Scenario& scenario) {
  set_calm_scene(scenario);
  take_out(scenario, IngredientKind::misconduct);
  scenario.replica.view_change_timeout = milliseconds(250);
  Random random(scenario.seed, kPurposeTurns);
  add_turns(scenario, random);
}

void set_noisy_scene(Scenario& scenario) {
  Random random(scenario.seed, kPurposeScene);
  set_calm_scene(scenario);
  add_lie(scenario, draw_correct(scenario, random), BehaviourKind::siding_roots);
  add_noise(scenario, random);
  // Nothing but states: answers are lost with a state that is given up.
  std::erase_if(scenario.ingredients, [](const Ingredient& ingredient) {
    return ingredient.kind == IngredientKind::noisy_answers;
  });
}

}  // namespace prophecy::simulation
