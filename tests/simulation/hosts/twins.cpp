#include "simulation/hosts/twins.hpp"

#include <utility>

namespace prophecy::simulation {

Twins::Twins(const Scenario& scenario, const Ingredient& ingredient, const pbft::KeyRing& keys,
             Scheduler& scheduler, Lies& lies, ReplicaHost::Send send)
    : scenario_(scenario),
      ingredient_(ingredient),
      scheduler_(scheduler),
      ignored_(scenario),
      service_(scenario.canary, ingredient.node),
      second_(scenario, keys, scheduler, ignored_, lies, service_,
              [this, send = std::move(send)](NodeId from, const pbft::Outgoing& outgoing,
                                             Duration delay) {
                if (speaks_with(Which::second, outgoing.to)) send(from, outgoing, delay);
              }) {}

bool Twins::speaks_with(Which which, NodeId other) const {
  const auto round =
      static_cast<std::uint64_t>(scheduler_.now().time_since_epoch() / ingredient_.offset);
  Random random(scenario_.seed, kPurposeIngredient + ingredient_.number + (round << 32) + other);
  const std::uint64_t side = random.below(5);
  return side == 4 || (side < 2) == (which == Which::first);
}

}  // namespace prophecy::simulation
