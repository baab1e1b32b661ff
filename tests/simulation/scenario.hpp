// What a seed stands for: the size of the group and its settings, and a list of ingredients: load,
// and faults of nodes and network. Nothing of it changes during a run.
//
// At no time are more than f replicas crashed, cut off for good or misbehaving, and no more than f
// ever lie. One that only withheld, delayed or repeated is a correct one with a bad connection, and
// others may take its part; one that lied has made promises that its state knows nothing of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "pbft/core/state/settings.hpp"
#include "simulation/canary.hpp"
#include "simulation/ingredient.hpp"
#include "tests/support/bounds_table.hpp"

namespace prophecy::simulation {

// An operation without padding travels in its request, one with some mostly by digest.
constexpr std::size_t kSimulatedInlineBytes = 64;
constexpr std::size_t kSimulatedLeafBytes = 100;
constexpr std::uint64_t kSimulatedPaddingMax = 600;
constexpr std::uint64_t kSimulatedBodyCost = 64;  // in logs that are small

struct Scenario {
  std::uint64_t seed = 0;
  Canary canary = Canary::none;
  bool is_long = false;          // see scenario_long.hpp
  bool is_earlier_life = false;  // of the group: what strangers record, and repeat in this one
  // A share of the seeds runs with the real cryptography, and with session keys that change.
  [[nodiscard]] bool has_real_keys() const { return canary == Canary::none && seed % 50 == 0; }
  std::uint32_t faults = 1;
  [[nodiscard]] std::uint32_t replicas() const { return 3 * faults + 1; }
  // One bit for each.
  [[nodiscard]] std::uint64_t all_replicas() const { return (std::uint64_t{1} << replicas()) - 1; }

  pbft::ReplicaSettings replica;
  std::uint64_t ahead = 0;               // bits of the replicas that do as tentative_execution says
  Duration delay_max = milliseconds(2);  // of a frame in a network that works
  bool linearizable_reads = false;
  std::uint32_t clients = 1;   // correct ones
  std::uint32_t sessions = 2;  // of each client
  std::uint64_t append_percent = 50;
  std::uint64_t read_only_percent = 50;  // of the reads
  TimePoint healed;                      // from here on the network only delays
  std::vector<Ingredient> ingredients;
  std::shared_ptr<const test::BoundsTable> bounds;  // of prices.hpp; null: they are not checked

  // Of a defect, nothing but that it is found is asked.
  [[nodiscard]] bool asks_for_liveness() const { return canary != Canary::small_quorum; }

  // Bits of replicas that lie at some time, and so count as faulty for good.
  [[nodiscard]] std::uint64_t liars() const;
  // Replicas whose service loses its state by itself, noticed or not.
  [[nodiscard]] std::uint32_t services_lost() const;
  // From the beginning: what is wrong is what replicas do, and what honestly differs.
  [[nodiscard]] bool network_works() const;
  // Likewise, and no replica is faulty: nothing is a reason to leave a view.
  [[nodiscard]] bool blames_nobody() const;
  // Of a call, on such a network, however f replicas misbehave: each may be primary once, and is
  // replaced after its time-out, which doubles; and a turn for each call in front.
  [[nodiscard]] Duration longest_wait() const;
  [[nodiscard]] Duration longest_turn() const;
  // Nothing that it says is ever altered, by itself or on the way.
  [[nodiscard]] bool is_blameless(NodeId node) const;
  // Bits of replicas that are crashed or misbehave for ever.
  [[nodiscard]] std::uint64_t faulty_in_the_end() const;
  // When the network has healed, no faulty client goes on, no disk stalls, and no machine stands
  // still any more.
  [[nodiscard]] TimePoint quiet_from() const;
  // Calls that one session has to make, if all wait for the network to heal.
  [[nodiscard]] std::uint32_t longest_queue() const;
  // Some client sends bodies of megabytes.
  [[nodiscard]] bool has_megabytes() const;
  // The faulty replicas are not the same all the time (Ingredient::turn).
  [[nodiscard]] bool has_turns() const;
  // Bits of those of this turn.
  [[nodiscard]] std::uint64_t faulty_in_turn(std::uint32_t turn) const;
  // Some replica does, at some time.
  [[nodiscard]] bool misbehaves(BehaviourKind behaviour) const;
  // Of all ingredients of this kind.
  [[nodiscard]] std::uint64_t percent_of(IngredientKind kind, TimePoint now) const;
  [[nodiscard]] bool has(IngredientKind kind) const {
    return std::any_of(ingredients.begin(), ingredients.end(),
                       [&](const Ingredient& ingredient) { return ingredient.kind == kind; });
  }
  [[nodiscard]] const Ingredient* find(IngredientKind kind, NodeId node) const;

  // Number them, once and for all.
  void number_ingredients();
  void leave_out(std::span<const std::uint32_t> numbers);
  void leave_only(std::span<const std::uint32_t> numbers);
};

[[nodiscard]] constexpr bool contains(std::uint64_t nodes, NodeId node) {
  return node < kReplicasMax && ((nodes >> node) & 1) != 0;
}

// Which scenarios are drawn.
enum class Subject : std::uint8_t {
  all,
  origins,  // groups of up to seven, in each of which something befalls the origins or their states
};

[[nodiscard]] Scenario make_scenario(std::uint64_t seed, Canary canary,
                                     Subject subject = Subject::all);
// One line for the settings, and one for each ingredient.
[[nodiscard]] std::string describe(const Scenario& scenario);

}  // namespace prophecy::simulation
