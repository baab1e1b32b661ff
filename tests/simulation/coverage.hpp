// What runs have come across, added up: a fault that was never drawn is a fault never tested.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "simulation/ingredient.hpp"
#include "simulation/lies.hpp"
#include "simulation/prices.hpp"
#include "simulation/scenario.hpp"

namespace prophecy::simulation {

struct Coverage {
  std::uint64_t runs = 0;
  std::uint64_t long_runs = 0;     // see scenario_long.hpp
  std::uint64_t long_runs_ms = 0;  // of processor time that they took
  std::uint64_t large_runs = 0;    // others, with bodies of megabytes
  std::uint64_t large_runs_ms = 0;
  std::uint64_t other_runs_us = 0;
  std::uint64_t requests_ordered = 0;
  std::uint64_t calls_agreed = 0;
  std::uint64_t checkpoints = 0;    // stable ones, at each replica
  std::uint64_t views_entered = 0;  // at each replica
  std::uint64_t runs_with_new_view = 0;
  std::uint64_t contents_fetched = 0;  // of batches known by their digest
  std::uint64_t batches_ahead = 0;     // executed before they were committed
  std::uint64_t batches_undone = 0;
  std::uint64_t restarts = 0;
  std::uint64_t states_restored = 0;
  std::uint64_t parts_fetched = 0;
  std::uint64_t bodies_fetched = 0;  // of requests by digest, at each replica
  std::uint64_t bodies_given_up = 0;
  std::uint64_t keys_learnt = 0;  // for MACs, at each node
  std::uint64_t frames = 0;
  std::uint64_t frames_dropped = 0;  // in front of narrow links
  std::uint64_t connections_broken = 0;
  std::uint64_t steps = 0;
  // Runs in which it occurs.
  std::array<std::uint64_t, kIngredientKinds> ingredients{};
  std::array<std::uint64_t, kBehaviourKinds> behaviours{};
  std::array<std::uint64_t, kBadClientKinds> bad_clients{};
  LieCounts lies_reached{};  // messages, by the behaviour
  PricePeaks price_peaks{};  // none where they are not checked

  void note(const Scenario& scenario);
  void add(const Coverage& other);
};

// Several lines.
[[nodiscard]] std::string describe(const Coverage& coverage);

}  // namespace prophecy::simulation
