// How a seed becomes a scenario: `Planner` draws it, step by step.
#pragma once

#include <bit>
#include <optional>

#include "simulation/random.hpp"
#include "simulation/scenario.hpp"

namespace prophecy::simulation {

inline TimePoint at(std::uint64_t ms) {
  return TimePoint{} + milliseconds(ms);
}

inline std::uint64_t bit(NodeId node) {
  return std::uint64_t{1} << node;
}

inline std::uint32_t count(std::uint64_t nodes) {
  return static_cast<std::uint32_t>(std::popcount(nodes));
}

class Planner {
 public:
  Planner(std::uint64_t seed, Canary canary, Subject subject)
      : subject_(subject),
        random_(seed),
        machines_(seed, kPurposeMachines),
        disks_(seed, kPurposeDisk),
        origins_(seed, kPurposeOrigins),
        halts_(seed, kPurposeHalts),
        links_(seed, kPurposeLinks),
        accomplices_(seed, kPurposeAccomplices) {
    scenario_.seed = seed;
    scenario_.canary = canary;
  }

  Scenario plan();

 private:
  Ingredient& add(IngredientKind kind);
  void add_share(IngredientKind kind, std::uint64_t percent);
  void add_lateness(std::uint64_t percent, std::uint64_t longest_ms);
  void add_misconduct(NodeId node, BehaviourKind behaviour, std::uint64_t from,
                      std::uint64_t until);
  // `wanted` different replicas that are not yet in `taken`.
  std::uint64_t pick(std::uint32_t wanted, std::uint64_t taken);
  BehaviourKind draw(BehaviourKind first, BehaviourKind end);
  BehaviourKind draw_lie();

  void plan_size();
  void plan_settings();
  void plan_faulty();
  void plan_lies(std::uint64_t liars);
  void plan_wrong_clock();
  void plan_clock_steps();
  void plan_client_restarts();
  void plan_origins();
  void plan_full_states();
  void plan_occasion(BehaviourKind behaviour, std::uint64_t from);
  void plan_misconduct_in_turn();
  void plan_network();
  void plan_partitions();
  void plan_accidents();
  void plan_clocks();
  void plan_load();
  void plan_read_failures();
  void plan_bad_clients();
  void plan_slow_services();
  void plan_refusing_disks();
  void plan_rotten_disks();
  void plan_stalled_disks();
  void plan_halts();
  void plan_narrow_links();
  void plan_shared_session();
  void plan_accomplices();
  // The kind is drawn if none is named, from those that need no scene of their own.
  void add_bad_client(Random& random, std::optional<BadClientKind> kind = std::nullopt);
  // Of those whose disk may fail for good, in part.
  [[nodiscard]] std::uint64_t faulty_with_disks() const;
  void plan_unmarked_disks();
  void plan_strangers();
  // For good.
  void add_strangers(std::uint32_t count, std::uint64_t each_us, std::uint64_t percent);
  void plan_canary();

  const Subject subject_;
  Random random_;
  Random machines_;
  Random disks_;
  Random origins_;
  Random halts_;
  Random links_;
  Random accomplices_;
  Scenario scenario_;
  std::uint64_t length_ = 1;  // of the time until the network has healed, in seconds
  std::uint64_t healed_at_ms_ = 1000;
  std::uint64_t liars_ = 0;
  std::uint64_t crashed_ = 0;
};

}  // namespace prophecy::simulation
