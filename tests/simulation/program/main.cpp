// prophecy-sim; see help_text().
#include <iomanip>
#include <iostream>
#include <string>

#include "simulation/program/many_runs.hpp"
#include "simulation/program/one_run.hpp"
#include "simulation/program/options.hpp"
#include "simulation/program/shrink.hpp"

namespace {

using namespace prophecy::simulation;

constexpr std::uint32_t kShrinkTriesMax = 2000;

enum ExitStatus { kHeld = 0, kViolated = 1, kUsage = 2 };

std::string list_of(const Numbers& numbers) {
  std::string text;
  for (const std::uint32_t number : numbers)
    text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

// What repeats a run, as far as the options are not the run's own.
std::string command_of(const Options& options, std::uint64_t seed) {
  std::string command = "prophecy-sim --seed " + std::to_string(seed);
  if (options.canary != Canary::none)
    command += " --canary " + std::string(to_string(options.canary));
  if (options.subject == Subject::origins) command += " --origins";
  if (!options.bounds.empty()) command += " --bounds " + options.bounds;
  return command;
}

// Long runs and bodies of megabytes have rates of their own.
void print_rate(const ManyRuns& runs, std::uint64_t seeds, std::uint32_t jobs) {
  const Coverage& coverage = runs.coverage;
  const std::uint64_t others = seeds - coverage.long_runs - coverage.large_runs;
  const double others_s = std::max(static_cast<double>(coverage.other_runs_us) / 1e6, 0.001);
  std::cout << seeds << " seeds in " << std::fixed << std::setprecision(1) << runs.elapsed_s
            << " s, " << static_cast<double>(others) / others_s * jobs
            << " seeds a second on as many idle cores as processes (" << jobs << "), beside "
            << coverage.long_runs << " long runs in "
            << static_cast<double>(coverage.long_runs_ms) / 1e3 << " s and " << coverage.large_runs
            << " with bodies of megabytes in " << static_cast<double>(coverage.large_runs_ms) / 1e3
            << " s of processor time\n";
}

// Zero when the canary was found by the oracle that is there for it.
int report_canary(const Options& options, std::uint64_t seed, const std::string& violation) {
  std::cout << "canary " << to_string(options.canary) << " was found after "
            << seed - options.first + 1 << " seeds";
  const bool is_its_own = violation.find(finding_of(options.canary)) != std::string::npos;
  std::cout << (is_its_own ? "\n" : ", by another oracle than its own\n");
  return is_its_own ? kHeld : kViolated;
}

int run_many_seeds(const Options& options) {
  const ManyRuns runs = run_many(options);
  if (!runs.failed) {
    print_rate(runs, options.seeds, options.jobs);
    std::cout << describe(runs.coverage);
    if (options.canary == Canary::none) return kHeld;
    std::cout << "canary " << to_string(options.canary) << " was not found in " << options.seeds
              << " seeds\n";
    return kViolated;
  }
  const std::uint64_t seed = *runs.failed;
  const std::string violation = run_apart(options.scenario(seed), false);
  std::cout << "seed " << seed << ": " << violation << "\n"
            << describe(options.scenario(seed)) << "repeat with: " << command_of(options, seed)
            << " --trace\nreduce with: " << command_of(options, seed) << " --shrink\n";
  if (options.canary == Canary::none) return kViolated;
  return report_canary(options, seed, violation);
}

int run_one_seed(const Options& options) {
  const Scenario scenario = options.scenario(options.first);
  std::cout << describe(scenario);
  const std::string violation = run_apart(scenario, options.trace);
  std::cout << "seed " << options.first << ": "
            << (violation.empty() ? "all checks held" : violation) << "\n";
  return violation.empty() ? kHeld : kViolated;
}

int shrink_seed(const Options& options) {
  const Scenario whole = options.scenario(options.first);
  Numbers all;
  for (const Ingredient& ingredient : whole.ingredients)
    all.push_back(ingredient.number);
  std::uint64_t runs = 0;
  const auto fails = [&](const Numbers& numbers) {
    ++runs;
    Scenario scenario = whole;
    scenario.leave_only(numbers);
    return !run_apart(scenario, false).empty();
  };
  if (!fails(all)) {
    std::cout << "seed " << options.first << ": all checks held, there is nothing to reduce\n";
    return kViolated;
  }
  const Numbers needed = shrink(all, fails, kShrinkTriesMax);
  Scenario scenario = whole;
  scenario.leave_only(needed);
  std::cout << "seed " << options.first << ": " << run_apart(scenario, false) << "\n"
            << needed.size() << " of " << all.size() << " ingredients are needed (" << runs
            << " runs):\n"
            << describe(scenario) << "repeat with: " << command_of(options, options.first)
            << " --only " << list_of(needed) << " --trace\n";
  return kHeld;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = parse_options({argv + 1, argv + argc});
  if (!options) {
    std::cerr << help_text();
    return kUsage;
  }
  switch (options->task) {
    case Task::help:
      std::cout << help_text();
      return kHeld;
    case Task::many_seeds:
      return run_many_seeds(*options);
    case Task::one_seed:
      return run_one_seed(*options);
    case Task::shrink:
      return shrink_seed(*options);
  }
  return kUsage;
}
