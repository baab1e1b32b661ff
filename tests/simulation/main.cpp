// simulation_test [--seeds N] [--first SEED] | --seed N [--trace] | --canary NAME [--seeds N]
//
// Runs one simulated group for each seed. The first violation ends it: its seed is printed, and
// --seed repeats the run exactly. With --canary a defect is built in, and the program fails when
// no seed finds it.
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include "simulation/world.hpp"

namespace {

using prophecy::simulation::Canary;

constexpr std::pair<const char*, Canary> kCanaries[] = {
    {"small_quorum", Canary::small_quorum},
    {"double_execution", Canary::double_execution},
    {"wrong_result", Canary::wrong_result},
    {"lost_write", Canary::lost_write},
    {"small_view_change", Canary::small_view_change},
    {"reply_accepted_early", Canary::reply_accepted_early},
};

struct Options {
  std::uint64_t first = 1;
  std::uint64_t seeds = 3000;
  bool trace = false;
  Canary canary = Canary::none;
};

int usage() {
  std::cerr << "usage: simulation_test [--seeds N] [--first SEED] [--seed N] [--trace]"
               " [--canary NAME]\ncanaries:";
  for (const auto& canary : kCanaries)
    std::cerr << " " << canary.first;
  std::cerr << "\n";
  return 2;
}

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--trace") {
      options.trace = true;
      continue;
    }
    if (++i == argc) return std::nullopt;
    if (option == "--canary") {
      for (const auto& canary : kCanaries) {
        if (std::strcmp(canary.first, argv[i]) == 0) options.canary = canary.second;
      }
      if (options.canary == Canary::none) return std::nullopt;
      continue;
    }
    const std::uint64_t number = std::strtoull(argv[i], nullptr, 10);
    if (option == "--seeds") {
      options.seeds = number;
    } else if (option == "--first") {
      options.first = number;
    } else if (option == "--seed") {
      options.first = number;
      options.seeds = 1;
    } else {
      return std::nullopt;
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = parse(argc, argv);
  if (!options) return usage();
  std::uint64_t ordered = 0;
  std::uint64_t agreed = 0;
  std::uint64_t checkpoints = 0;
  std::uint64_t excused = 0;
  for (std::uint64_t seed = options->first; seed < options->first + options->seeds; ++seed) {
    prophecy::simulation::World world(seed, options->canary, options->trace);
    const auto result = world.run();
    ordered += result.ordered_requests;
    agreed += result.agreed_calls;
    checkpoints += result.stable_checkpoints;
    excused += result.excused ? 1 : 0;
    if (result.violation.empty()) continue;
    std::cout << "seed " << seed << ": " << result.violation << "\n  "
              << describe(prophecy::simulation::make_scenario(seed, options->canary))
              << "\n  repeat with --seed " << seed << " --trace\n";
    return options->canary == Canary::none ? 1 : 0;
  }
  std::cout << options->seeds << " runs, " << ordered << " requests ordered, " << agreed
            << " calls agreed, " << checkpoints << " stable checkpoints, " << excused
            << " runs with too many replicas behind to ask for liveness\n";
  if (options->canary == Canary::none) return 0;
  std::cout << "the defect was not found\n";
  return 1;
}
