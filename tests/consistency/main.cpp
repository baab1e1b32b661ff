// prophecy-consistency; see kHelp.
#include <algorithm>
#include <charconv>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "consistency/delay_once.hpp"
#include "consistency/staleness.hpp"
#include "consistency/world.hpp"

namespace {

using namespace prophecy::consistency;

constexpr std::string_view kHelp =
    "usage: prophecy-consistency check FILE\n"
    "       prophecy-consistency simulate --bounds FILE [--seeds N] [--first N] [--variant NAME]\n"
    "                                     [--group pbft|simulated] [--print]\n"
    "\n"
    "check     decides for each key of a recorded history whether it is delay-once\n"
    "          linearizable; the file's form is that of tests/consistency/history.hpp\n"
    "simulate  runs the sketcher's own read path under seeds (1000 from 1 on), decides so for the\n"
    "          histories, and checks attribution, accusation, service, and cost: against the\n"
    "          table of bounds in FILE, docs/reads.md. With a broken variant it succeeds once\n"
    "          the variant's own oracle has found it. --print shows the history of a seed that "
    "fails.\n"
    "          A share of the groups with an order is real, by PBFT: --group has it all of them, "
    "or "
    "none\n"
    "\n"
    "Status: 0 it holds, 1 it is violated, 2 wrong usage, 3 nothing is shown: there are no\n"
    "operations, too many at once, or what has to be met in the runs was not.\n"
    "\n"
    "Variants:";

enum ExitStatus { kHolds = 0, kViolated = 1, kUsage = 2, kNothingShown = 3 };

// So many have met everything that the tally counts.
constexpr std::uint64_t kSeedsThatMeetAll = 4000;
// One run in so many may have too many operations at once to be decided.
constexpr std::uint64_t kDecidedPart = 1000;
// Of a run's histories: more would take minutes for one seed.
constexpr std::size_t kRunConfigurationsMax = 1 << 16;

struct Options {
  std::uint64_t seeds = 1000;
  std::uint64_t first = 1;
  Variant variant = kVariants[0];
  GroupChoice group = GroupChoice::by_seed;
  std::string bounds;
  bool print = false;

  [[nodiscard]] bool is_correct() const { return variant.name == kVariants[0].name; }
};

std::string help_text() {
  std::string text(kHelp);
  for (const Variant& known : kVariants)
    text += " " + std::string(known.name);
  return text + "\n";
}

std::optional<std::uint64_t> parse_number(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<Options> parse_options(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--print") {
      options.print = true;
      continue;
    }
    if (i + 1 == arguments.size()) return std::nullopt;
    const std::string& name = arguments[i];
    const std::string& value = arguments[++i];
    if (name == "--variant") {
      const auto variant = parse_variant(value);
      if (!variant) return std::nullopt;
      options.variant = *variant;
      continue;
    }
    if (name == "--group") {
      if (value != "pbft" && value != "simulated") return std::nullopt;
      options.group = value == "pbft" ? GroupChoice::pbft : GroupChoice::simulated;
      continue;
    }
    if (name == "--bounds") {
      options.bounds = value;
      continue;
    }
    const auto number = parse_number(value);
    if (!number || (name != "--seeds" && name != "--first")) return std::nullopt;
    (name == "--seeds" ? options.seeds : options.first) = *number;
  }
  if (options.bounds.empty()) {
    std::cerr << "simulate: --bounds is missing: name docs/reads.md\n\n";
    return std::nullopt;
  }
  return options;
}

// Of the first key that is violated, else of the first that is undecided.
Decision decide_all(const Histories& histories,
                    std::size_t configurations_max = kConfigurationsMax) {
  Decision all;
  for (const auto& [key, history] : histories) {
    Decision decision = decide(history, configurations_max);
    if (decision.verdict == Verdict::holds) continue;
    decision.explanation = key + ": " + decision.explanation;
    if (decision.verdict == Verdict::violated) return decision;
    if (all.verdict == Verdict::holds) all = std::move(decision);
  }
  return all;
}

ExitStatus status_of(Verdict verdict) {
  if (verdict == Verdict::holds) return kHolds;
  return verdict == Verdict::violated ? kViolated : kNothingShown;
}

std::optional<std::string> read_file(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in || !text) {
    std::cerr << file << " cannot be read\n";
    return std::nullopt;
  }
  return text.str();
}

int check(const std::string& file) {
  const auto text = read_file(file);
  if (!text) return kUsage;
  const auto histories = parse_histories(*text);
  if (!histories) {
    std::cerr << file << ": " << histories.error().message << '\n';
    return kUsage;
  }
  std::size_t operations = 0;
  std::size_t stale = 0;
  for (const auto& [key, history] : *histories) {
    operations += history.operations.size();
    stale += count_stale_reads(history);
  }
  std::cout << histories->size() << " keys, " << operations << " operations, " << stale
            << " stale reads\n";
  if (operations == 0) {
    std::cout << "nothing is shown\n";
    return kNothingShown;
  }
  const Decision decision = decide_all(*histories);
  std::cout << (decision.verdict == Verdict::holds ? "delay-once linearizable\n"
                                                   : decision.explanation);
  return status_of(decision.verdict);
}

void print(const Tally& tally, std::size_t stale) {
  std::cout << stale << " certainly stale";
  for (std::size_t i = 0; i < kMetNames.size(); ++i)
    std::cout << "; " << tally.counts()[i] << ' ' << kMetNames[i];
  std::cout << '\n';
}

int simulate(const Options& options) {
  const auto text = read_file(options.bounds);
  if (!text) return kUsage;
  const auto bounds = Bounds::parse(*text, kBoundNames);
  if (!bounds) {
    std::cerr << options.bounds << ": " << bounds.error().message << '\n';
    return kUsage;
  }
  Tally tally;
  std::size_t stale = 0;
  std::uint64_t undecided = 0;
  for (std::uint64_t seed = options.first; seed < options.first + options.seeds; ++seed) {
    World world(seed, options.variant, options.group, *bounds);
    const Histories histories = world.run();
    tally += world.tally();
    for (const auto& [key, history] : histories)
      stale += count_stale_reads(history);
    Decision decision = decide_all(histories, kRunConfigurationsMax);
    if (decision.verdict == Verdict::violated) {
      decision.explanation = std::string(kDelayOnce) + ": " + decision.explanation;
    }
    if (world.violation()) {
      decision.verdict = Verdict::violated;
      decision.explanation = *world.violation() + "\n";
    }
    if (decision.verdict == Verdict::holds) continue;
    if (decision.verdict == Verdict::undecided) {
      ++undecided;
      if (!options.is_correct() || undecided <= options.seeds / kDecidedPart) continue;
    }
    std::cout << "seed " << seed << " (" << world.settings().describe()
              << "): " << decision.explanation;
    if (options.print) std::cout << to_text(histories);
    if (options.is_correct()) return status_of(decision.verdict);
    const bool is_its_own = decision.explanation.starts_with(options.variant.oracle);
    std::cout << "found after " << seed - options.first + 1 << " seeds"
              << (is_its_own ? "\n" : ", by another oracle than its own\n");
    return is_its_own ? kHolds : kViolated;
  }
  print(tally, stale);
  if (undecided > 0) std::cout << undecided << " seeds undecided\n";
  if (options.is_correct()) {
    const bool is_forced = options.group != GroupChoice::by_seed;
    if (is_forced || options.seeds < kSeedsThatMeetAll || (stale > 0 && tally.has_met_all()))
      return kHolds;
    std::cout << "something of this was never met: nothing is shown\n";
    return kNothingShown;
  }
  std::cout << "not found in " << options.seeds << " seeds\n";
  return kViolated;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments == std::vector<std::string>{"--help"}) {
    std::cout << help_text();
    return kHolds;
  }
  if (arguments.size() == 2 && arguments[0] == "check") return check(arguments[1]);
  if (!arguments.empty() && arguments[0] == "simulate") {
    const auto options = parse_options({arguments.begin() + 1, arguments.end()});
    if (options) return simulate(*options);
  }
  std::cerr << help_text();
  return kUsage;
}
