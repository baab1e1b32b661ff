// `Planner` draws faulty clients, their accomplices, and strangers.
#include "simulation/scenario_planner.hpp"

namespace prophecy::simulation {
namespace {

// Bad clients go on for a while after the network has healed: correct ones have to be served beside
// them.
constexpr std::uint64_t kBadClientsLongerMs = 3000;

}  // namespace

void Planner::plan_bad_clients() {
  if (!random_.chance(40)) return;
  const std::uint64_t several = random_.between(1, 3);
  for (std::uint64_t i = 0; i < several; ++i)
    add_bad_client(random_);
}

void Planner::add_bad_client(Random& random, std::optional<BadClientKind> kind) {
  Ingredient& client = add(IngredientKind::bad_client);
  client.node = kFirstClientId + 3 + static_cast<NodeId>(random.below(2));
  client.bad_client = kind ? *kind
                           : static_cast<BadClientKind>(random.below(
                                 static_cast<std::uint64_t>(BadClientKind::lone_bodies)));
  client.from = at(random.below(500 * length_));
  const std::uint64_t until =
      random.chance(50) ? healed_at_ms_ + kBadClientsLongerMs
                        : random.between(500 * length_, healed_at_ms_ + kBadClientsLongerMs);
  client.until = at(until);
}

void Planner::plan_shared_session() {
  if (accomplices_.chance(5)) add_bad_client(accomplices_, BadClientKind::shared_session);
}

// A faulty client serves bodies to some replicas only, and a faulty replica claims to have them.
void Planner::plan_accomplices() {
  if (liars_ == 0 || !accomplices_.chance(15)) return;
  add_misconduct(static_cast<NodeId>(std::countr_zero(liars_)), BehaviourKind::false_holder, 0, 0);
  add_bad_client(accomplices_, BadClientKind::withheld_bodies);
}

void Planner::add_strangers(std::uint32_t count, std::uint64_t each_us, std::uint64_t percent) {
  Ingredient& strangers = add(IngredientKind::strangers);
  strangers.count = count;
  strangers.offset = microseconds(each_us);
  strangers.percent = percent;
}

// Strangers that go on beside the calls of correct clients; and, at some replicas, many frames in a
// turn.
void Planner::plan_strangers() {
  const std::uint64_t all = scenario_.all_replicas();
  if (machines_.chance(15)) {
    add_strangers(static_cast<std::uint32_t>(machines_.between(1, 4)), machines_.between(500, 5000),
                  machines_.below(50));
    Ingredient& strangers = scenario_.ingredients.back();
    strangers.from = at(machines_.below(500 * length_));
    strangers.until = at(healed_at_ms_ + machines_.below(kBadClientsLongerMs));
  }
  if (machines_.chance(25)) {
    Ingredient& turns = add(IngredientKind::many_at_once);
    turns.nodes = machines_.chance(50) ? all : machines_.between(1, all);
    turns.offset = microseconds(machines_.between(100, 5000));
  }
}

}  // namespace prophecy::simulation
