#include "simulation/hosts/origin_faults.hpp"

#include <functional>

#include "pbft/wire/limits.hpp"
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
    const std::uint64_t all = scenario.all_replicas();
    // Where it goes well elsewhere, or at last, it has been carried out.
    const bool may_have_none = ingredient.nodes == all && ingredient.count == 0;
    return Fault{&ingredient,
                 {!may_have_none || random.chance(50), ingredient.count, ingredient.offset}};
  }
  return std::nullopt;
}

// At most so much; nothing: there is no bound.
std::optional<std::uint64_t> room_of(const Scenario& scenario, std::uint64_t checkpoint,
                                     const std::function<bool(const Ingredient&)>& counts) {
  for (const Ingredient& ingredient : scenario.ingredients) {
    if (ingredient.kind != IngredientKind::full_states || !counts(ingredient)) continue;
    const bool is_raised = ingredient.raised_at > 0 && checkpoint >= ingredient.raised_at;
    return std::uint64_t{ingredient.count} * (is_raised ? 2 : 1);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> room_at(const Scenario& scenario, NodeId replica,
                                     std::uint64_t checkpoint) {
  return room_of(scenario, checkpoint, [replica](const Ingredient& ingredient) {
    return contains(ingredient.nodes, replica);
  });
}

}  // namespace

bool is_full(const Scenario& scenario, NodeId replica, std::uint64_t checkpoint,
             std::uint64_t size) {
  const auto room = room_at(scenario, replica, checkpoint);
  return room && size >= *room;
}

bool is_full(const Scenario& scenario, std::uint64_t checkpoint, std::uint64_t size) {
  const auto room = room_of(scenario, checkpoint,
                            [](const Ingredient& ingredient) { return !ingredient.fills_alone(); });
  return room && size >= *room;
}

bool is_too_large(const Scenario& scenario, NodeId replica, std::uint64_t checkpoint,
                  std::uint64_t size) {
  const auto room = room_at(scenario, replica, checkpoint);
  // A primary that lies fills its batches as far as backups accept it.
  const std::uint64_t requests =
      scenario.liars() == 0 ? scenario.replica.batch_requests_max : pbft::kBatchRequestsMax;
  const std::uint64_t between = scenario.replica.checkpoint_interval * requests;
  return room && size >= *room + between;
}

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
