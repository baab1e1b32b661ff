#include "simulation/scenario_long.hpp"

#include <algorithm>

#include "simulation/random.hpp"

namespace prophecy::simulation {
namespace {

constexpr std::uint64_t kOneOf = 100;
constexpr std::uint64_t kWhich = 37;
constexpr std::uint64_t kMinutesMin = 60;
constexpr std::uint64_t kMinutesMax = 150;
constexpr std::uint64_t kMinuteMs = 60'000;

// Draws what happens in such a scene.
class LongPlanner {
 public:
  explicit LongPlanner(Scenario& scenario)
      : scenario_(scenario), random_(scenario.seed, kPurposeScene) {}

  void plan() {
    std::erase_if(scenario_.ingredients, [](const Ingredient& ingredient) {
      return ingredient.kind != IngredientKind::clock;
    });
    minutes_ = random_.between(kMinutesMin, kMinutesMax);
    scenario_.is_long = true;
    scenario_.healed = at(minutes_ * kMinuteMs);
    plan_calls();
    if (random_.chance(50)) add(IngredientKind::loss).percent = random_.between(1, 4);
    if (random_.chance(50)) {
      plan_liar();
    } else {
      plan_accidents();
    }
    if (random_.chance(30)) plan_bad_clients();
  }

 private:
  static TimePoint at(std::uint64_t ms) { return TimePoint{} + milliseconds(ms); }
  Ingredient& add(IngredientKind kind) {
    Ingredient ingredient;
    ingredient.kind = kind;
    return scenario_.ingredients.emplace_back(ingredient);
  }
  // For up to so long, somewhere in this minute.
  void place(Ingredient& ingredient, std::uint64_t minute, std::uint64_t longest_ms) {
    ingredient.from = at(minute * kMinuteMs + random_.below(kMinuteMs / 2));
    ingredient.until = ingredient.from + milliseconds(random_.between(10, longest_ms));
  }
  NodeId any_replica() { return static_cast<NodeId>(random_.below(scenario_.replicas())); }

  void plan_calls() {
    for (NodeId client = 0; client < scenario_.clients; ++client) {
      for (std::uint64_t minute = 0; minute + 1 < minutes_; minute += random_.between(1, 6)) {
        Ingredient& calls = add(IngredientKind::calls);
        calls.node = kFirstClientId + client;
        calls.count = static_cast<std::uint32_t>(random_.between(1, 8));
        place(calls, minute, 20'000);
      }
    }
    if (random_.chance(50)) add(IngredientKind::large_operations).percent = random_.below(40);
  }

  // f replicas lie, in one way and then in another.
  void plan_liar() {
    for (NodeId liar = 0; liar < scenario_.faults; ++liar) {
      const NodeId node = (any_of_all_ + liar) % scenario_.replicas();
      for (std::uint64_t minute = 0; minute + 1 < minutes_; minute += random_.between(1, 10)) {
        Ingredient& lie = add(IngredientKind::misconduct);
        lie.node = node;
        lie.behaviour = static_cast<BehaviourKind>(
            random_.below(static_cast<std::uint64_t>(BehaviourKind::lying_keys)));
        place(lie, minute, 4 * kMinuteMs);
        // From here on it is asked whether all have caught up, those that have lied as well.
        lie.until = std::min(lie.until, scenario_.healed);
      }
    }
    for (std::uint64_t minute = 1; minute + 1 < minutes_; minute += random_.between(2, 15)) {
      Ingredient& accident = add(IngredientKind::restart);
      accident.node = any_replica();
      place(accident, minute, 5000);
    }
  }

  // One after another: each has its minutes to be over.
  void plan_accidents() {
    for (std::uint64_t minute = 1; minute + 1 < minutes_; minute += random_.between(2, 8)) {
      static constexpr IngredientKind kAccidents[] = {
          IngredientKind::restart, IngredientKind::power_loss, IngredientKind::lost_disk,
          IngredientKind::lost_service, IngredientKind::partition};
      Ingredient& accident = add(kAccidents[random_.below(std::size(kAccidents))]);
      accident.node = any_replica();
      const std::uint64_t all = scenario_.all_replicas();
      if (accident.kind == IngredientKind::power_loss) accident.nodes = random_.next() & all;
      if (accident.kind == IngredientKind::partition) {
        accident.nodes = random_.between(1, all - 1);
      }
      place(accident, minute, 20'000);
    }
  }

  void plan_bad_clients() {
    for (std::uint64_t minute = 0; minute + 1 < minutes_; minute += random_.between(10, 30)) {
      Ingredient& client = add(IngredientKind::bad_client);
      client.node = kFirstClientId + 3 + static_cast<NodeId>(random_.below(2));
      // Bodies of megabytes, the last kind, do not fit into the logs of these groups.
      client.bad_client = static_cast<BadClientKind>(
          random_.below(static_cast<std::uint64_t>(BadClientKind::lone_bodies)));
      place(client, minute, 5000);
    }
  }

  Scenario& scenario_;
  Random random_;
  std::uint64_t minutes_ = 0;
  const NodeId any_of_all_ = any_replica();
};

}  // namespace

bool is_long(std::uint64_t seed) {
  return seed % kOneOf == kWhich;
}

void set_long_scene(Scenario& scenario) {
  LongPlanner(scenario).plan();
}

}  // namespace prophecy::simulation
