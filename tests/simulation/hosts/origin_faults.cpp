#include "simulation/hosts/origin_faults.hpp"

#include "simulation/random.hpp"

namespace prophecy::simulation {
namespace {

struct Fault {
  const Ingredient* where = nullptr;
  WriteFault what;
};

std::optional<Fault> fault_of(const Scenario& scenario, std::uint64_t operation) {
  for (const Ingredient& ingredient : scenario.ingredients) {
    if (ingredient.kind != IngredientKind::crashing_writes) continue;
    Random random(scenario.seed, kPurposeOrigins + (operation << 24));
    if (!random.chance(ingredient.percent)) continue;
    const std::uint64_t all = (std::uint64_t{1} << scenario.replicas()) - 1;
    // Where it goes well elsewhere, or at last, it has been carried out.
    const bool may_have_none = ingredient.nodes == all && ingredient.count == 0;
    return Fault{&ingredient,
                 {!may_have_none || random.chance(50), ingredient.count, ingredient.offset}};
  }
  return std::nullopt;
}

}  // namespace

std::optional<WriteFault> write_fault(const Scenario& scenario, NodeId replica,
                                      std::uint64_t operation) {
  const auto fault = fault_of(scenario, operation);
  if (!fault || !contains(fault->where->nodes, replica)) return std::nullopt;
  return fault->what;
}

bool is_without_effect(const Scenario& scenario, std::uint64_t operation) {
  const auto fault = fault_of(scenario, operation);
  return fault && !fault->what.has_effect;
}

bool may_be_uncertain(const Scenario& scenario, std::uint64_t operation) {
  return fault_of(scenario, operation).has_value();
}

const Bytes& uncertain_result() {
  static const Bytes kResult = to_bytes("nobody knows");
  return kResult;
}

}  // namespace prophecy::simulation
