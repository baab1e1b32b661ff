#include "simulation/misconduct.hpp"

#include <utility>

namespace prophecy::simulation {

Misconduct::Misconduct(const Scenario& scenario, const pbft::KeyRing& keys, Lies& lies)
    : keys_(keys), lies_(lies) {
  for (const Ingredient& ingredient : scenario.ingredients) {
    if (ingredient.kind != IngredientKind::misconduct || ingredient.node != keys.self()) continue;
    const Random random(scenario.seed, kPurposeIngredient + ingredient.number);
    parts_.push_back({ingredient, make_behaviour(ingredient.behaviour, Villain{keys, random})});
  }
}

bool Misconduct::receive(const pbft::Frame& frame, TimePoint now) {
  bool seen = true;
  if (parts_.empty()) return seen;
  const pbft::Frame message = opened(frame, keys_.replicas());
  for (const Part& part : parts_) {
    if (is_active(part, now)) seen = part.behaviour->receive(message) && seen;
  }
  return seen;
}

void Misconduct::say_in_its_place(const Part& part, const Sending& honest,
                                  std::vector<Sending>& out) {
  const std::size_t before = out.size();
  send_sealed(*part.behaviour, keys_, honest, out);
  for (std::size_t i = before; i < out.size(); ++i) {
    if (out[i].what.frame != honest.what.frame)
      lies_.note(out[i].what.frame, part.ingredient.behaviour);
  }
}

std::vector<Sending> Misconduct::send(const pbft::Outgoing& honest, TimePoint now) {
  std::vector<Sending> sendings = {{honest, {}, now}};
  for (const Part& part : parts_) {
    if (!is_active(part, now)) continue;
    std::vector<Sending> changed;
    for (const Sending& sending : sendings)
      say_in_its_place(part, sending, changed);
    sendings = std::move(changed);
  }
  return sendings;
}

}  // namespace prophecy::simulation
