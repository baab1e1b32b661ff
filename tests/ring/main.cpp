// prophecy-ring; see kHelp.
#include <charconv>
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "consistency/delay_once.hpp"
#include "ring/world.hpp"

namespace {

using namespace prophecy;
using namespace prophecy::ring;

constexpr std::string_view kHelp =
    "usage: prophecy-ring [--seeds N] [--first N] [--variant NAME] [--print] [--trace]\n"
    "\n"
    "Runs whole rings of members in virtual time, one for each seed (1000 from 1 on): the real "
    "core\n"
    "of dht/core/, with models of ZooKeeper, of the group and of a read path. With a broken "
    "variant\n"
    "it succeeds once the variant's own oracle has found it. --print shows the history of a seed\n"
    "that fails, --trace what happens.\n"
    "\n"
    "Status: 0 it holds (or the variant was found), 1 it is violated, 2 wrong usage, 3 nothing is\n"
    "shown: too many operations at once, or what has to be met in the runs was not.\n"
    "\n"
    "Variants:";

enum ExitStatus { kHolds = 0, kViolated = 1, kUsage = 2, kNothingShown = 3 };

// So many have met everything that the tally counts.
constexpr std::uint64_t kSeedsThatMeetAll = 300;
// One run in so many may have too many operations at once to be decided.
constexpr std::uint64_t kDecidedPart = 500;
constexpr std::size_t kConfigurationsMax = 1 << 14;

struct Options {
  std::uint64_t seeds = 1000;
  std::uint64_t first = 1;
  Variant variant = kVariants[0];
  bool prints = false;
  bool traces = false;

  [[nodiscard]] bool is_correct() const { return variant.name == kVariants[0].name; }
};

std::optional<Options> parse_options(const std::vector<std::string_view>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--print" || arguments[i] == "--trace") {
      (arguments[i] == "--print" ? options.prints : options.traces) = true;
      continue;
    }
    if (i + 1 == arguments.size()) return std::nullopt;
    const std::string_view name = arguments[i];
    const std::string_view value = arguments[++i];
    if (name == "--variant") {
      const auto variant = parse_variant(value);
      if (!variant) return std::nullopt;
      options.variant = *variant;
      continue;
    }
    if (name != "--seeds" && name != "--first") return std::nullopt;
    std::uint64_t& number = name == "--seeds" ? options.seeds : options.first;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size()) return std::nullopt;
  }
  return options;
}

struct Outcome {
  std::optional<Breach> breach;
  bool is_undecided = false;
  Tally tally;
};

Outcome run(std::uint64_t seed, const Options& options) {
  World world(seed, options.variant, options.traces);
  world.run();
  Outcome outcome{.breach = world.breach(), .tally = world.tally()};
  const auto& histories = world.recorder().histories();
  for (std::size_t at = 0; at < histories.size() && !outcome.breach; ++at) {
    const auto decision = consistency::decide(histories[at], kConfigurationsMax);
    if (decision.verdict == consistency::Verdict::undecided) outcome.is_undecided = true;
    if (decision.verdict != consistency::Verdict::violated) continue;
    outcome.breach =
        Breach{Oracle::delay_once, "register " + std::to_string(at) + ": " + decision.explanation};
    if (options.prints)
      std::cout << to_text(consistency::Histories{{std::to_string(at), histories[at]}});
  }
  return outcome;
}

std::string_view name_of(Oracle oracle) {
  switch (oracle) {
    case Oracle::owner:
      return "owner";
    case Oracle::acceptance:
      return "acceptance";
    case Oracle::hand_over:
      return "hand-over";
    case Oracle::delay_once:
      return "delay-once";
    case Oracle::view:
      return "view";
    case Oracle::settings:
      return "settings";
    case Oracle::service:
      return "service";
    case Oracle::any:
      break;
  }
  return "any";
}

int report(const Options& options, const Tally& tally, std::uint64_t undecided) {
  std::cout << options.seeds << " seeds hold; " << undecided << " undecided\n";
  bool has_met_all = true;
  for (std::size_t i = 0; i < kMet; ++i) {
    std::cout << "  " << tally.counts.at(i) << " " << kMetNames.at(i) << "\n";
    has_met_all = has_met_all && tally.counts.at(i) > 0;
  }
  if (!has_met_all && options.seeds >= kSeedsThatMeetAll) {
    std::cout << "something was never met\n";
    return kNothingShown;
  }
  if (undecided * kDecidedPart > options.seeds) {
    std::cout << "too many are undecided\n";
    return kNothingShown;
  }
  return kHolds;
}

int run_all(const Options& options) {
  Tally tally;
  std::uint64_t undecided = 0;
  for (std::uint64_t seed = options.first; seed < options.first + options.seeds; ++seed) {
    const Outcome outcome = run(seed, options);
    tally.add(outcome.tally);
    undecided += outcome.is_undecided ? 1 : 0;
    if (!outcome.breach) continue;
    const Breach& breach = *outcome.breach;
    std::cout << "seed " << seed << ", oracle " << name_of(breach.oracle) << ": " << breach.text
              << "\n";
    if (options.is_correct()) return kViolated;
    const bool is_own =
        options.variant.oracle == Oracle::any || options.variant.oracle == breach.oracle;
    if (is_own) {
      std::cout << options.variant.name << " was found after " << seed - options.first + 1
                << " seeds\n";
      return kHolds;
    }
  }
  if (options.is_correct()) return report(options, tally, undecided);
  std::cout << options.variant.name << " was not found\n";
  return kViolated;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  if (arguments.size() == 1 && arguments[0] == "--help") {
    std::cout << kHelp;
    for (const Variant& variant : kVariants)
      std::cout << " " << variant.name;
    std::cout << "\n";
    return kHolds;
  }
  const auto options = parse_options(arguments);
  if (!options) {
    std::cerr << kHelp << " ...\n";
    return kUsage;
  }
  return run_all(*options);
}
