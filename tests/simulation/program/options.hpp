// What prophecy-sim is asked to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/canary.hpp"
#include "simulation/scenario.hpp"

namespace prophecy::simulation {

enum class Task : std::uint8_t { help, many_seeds, one_seed, shrink };

struct Options {
  Task task = Task::many_seeds;
  std::uint64_t first = 1;  // or the only one
  std::uint64_t seeds = 1000;
  std::uint32_t jobs = 1;
  bool trace = false;
  Canary canary = Canary::none;
  Subject subject = Subject::all;
  std::string bounds;                              // the page that has the table; or empty
  std::shared_ptr<const test::BoundsTable> table;  // as it was read from there
  std::vector<std::uint32_t> without;              // ingredients to leave out
  std::optional<std::vector<std::uint32_t>> only;  // or those to leave in

  // The scenario of a seed as far as it was asked for.
  [[nodiscard]] Scenario scenario(std::uint64_t seed) const;
};

[[nodiscard]] std::string help_text();
// Nothing when they make no sense.
[[nodiscard]] std::optional<Options> parse_options(const std::vector<std::string_view>& arguments);

}  // namespace prophecy::simulation
