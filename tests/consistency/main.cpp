// prophecy-consistency; see kHelp.
#include <algorithm>
#include <array>
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
    "       prophecy-consistency simulate [--seeds N] [--first N] [--variant NAME] [--print]\n"
    "\n"
    "check     decides for each key of a recorded history whether it is delay-once\n"
    "          linearizable; the file's form is that of tests/consistency/history.hpp\n"
    "simulate  does so for histories of the sketcher's own code under seeds (1000 from 1 on);\n"
    "          with a broken variant it succeeds once that is found. --print shows the\n"
    "          history of a seed that fails\n"
    "\n"
    "Status: 0 it holds, 1 it is violated, 2 wrong usage, 3 nothing is shown: there are no\n"
    "operations, too many at once, or what has to be met in the runs was not.\n"
    "\n"
    "Variants:";

enum ExitStatus { kHolds = 0, kViolated = 1, kUsage = 2, kNothingShown = 3 };

// So many have met everything that the tally counts.
constexpr std::uint64_t kSeedsThatMeetAll = 400;

struct Options {
  std::uint64_t seeds = 1000;
  std::uint64_t first = 1;
  Variant variant = Variant::correct;
  bool print = false;
};

std::string help_text() {
  std::string text(kHelp);
  for (const VariantName& known : kVariantNames)
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
    const auto number = parse_number(value);
    if (!number || (name != "--seeds" && name != "--first")) return std::nullopt;
    (name == "--seeds" ? options.seeds : options.first) = *number;
  }
  return options;
}

// Of the first key that is violated, else of the first that is undecided.
Decision decide_all(const Histories& histories) {
  Decision all;
  for (const auto& [key, history] : histories) {
    Decision decision = decide(history);
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

int check(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in || !text) {
    std::cerr << file << " cannot be read\n";
    return kUsage;
  }
  const auto histories = parse_histories(text.str());
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
  std::cout << tally.fast << " fast reads, " << stale << " certainly stale; " << tally.replicated
            << " replicated, " << tally.coalesced << " of them shared, " << tally.outdated
            << " asked again; " << tally.out_of_date << " look-ups of what was out of date; "
            << tally.unsketchable << " answers without a sketch, " << tally.evictions
            << " evictions, " << tally.group_restarts << " restarts of the group\n";
}

bool has_met_all(const Tally& tally, std::size_t stale) {
  const std::array<std::uint64_t, 9> counts = {stale,
                                               tally.fast,
                                               tally.replicated,
                                               tally.coalesced,
                                               tally.outdated,
                                               tally.out_of_date,
                                               tally.unsketchable,
                                               tally.evictions,
                                               tally.group_restarts};
  return std::find(counts.begin(), counts.end(), 0U) == counts.end();
}

int simulate(const Options& options) {
  Tally tally;
  std::size_t stale = 0;
  for (std::uint64_t seed = options.first; seed < options.first + options.seeds; ++seed) {
    World world(seed, options.variant);
    const Histories histories = world.run();
    tally += world.tally();
    for (const auto& [key, history] : histories)
      stale += count_stale_reads(history);
    const Decision decision = decide_all(histories);
    if (decision.verdict == Verdict::holds) continue;
    std::cout << "seed " << seed << ": " << decision.explanation;
    if (options.print) std::cout << to_text(histories);
    if (options.variant == Variant::correct) return status_of(decision.verdict);
    if (decision.verdict == Verdict::undecided) continue;  // that finds nothing
    std::cout << "found after " << seed - options.first + 1 << " seeds\n";
    return kHolds;
  }
  print(tally, stale);
  if (options.variant == Variant::correct) {
    if (options.seeds < kSeedsThatMeetAll || has_met_all(tally, stale)) return kHolds;
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
