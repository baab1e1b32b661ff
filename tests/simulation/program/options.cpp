#include "simulation/program/options.hpp"

#include <charconv>
#include <fstream>
#include <sstream>
#include <thread>

#include "simulation/prices.hpp"

namespace prophecy::simulation {
namespace {

constexpr std::uint32_t kJobsMax = 256;

template <typename Integer>
bool parse_number(std::string_view text, Integer& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

// "3,5,7"; an empty text is an empty list.
std::optional<std::vector<std::uint32_t>> parse_list(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (!parse_number(text.substr(0, comma), numbers.emplace_back())) return std::nullopt;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return numbers;
}

// What belongs together is said together.
bool make_sense(const Options& options) {
  if (options.seeds == 0 || options.jobs == 0 || options.jobs > kJobsMax) return false;
  if (options.first > UINT64_MAX - options.seeds) return false;
  const bool selects = !options.without.empty() || options.only.has_value();
  if (!options.without.empty() && options.only) return false;
  return options.task != Task::many_seeds || (!options.trace && !selects);
}

// Null when the file is not there, or has no such table.
std::shared_ptr<const test::BoundsTable> read_bounds(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  auto table = test::BoundsTable::parse(text.str(), kPriceNames);
  return table ? std::make_shared<const test::BoundsTable>(std::move(*table)) : nullptr;
}

// Separated by commas, in lines of a bearable length.
std::string canaries() {
  constexpr std::size_t kLineMax = 96;
  std::string text;
  std::size_t line = std::string_view("Canaries: ").size();
  for (std::size_t i = 1; i < kCanaries; ++i) {
    const std::string name =
        std::string(to_string(static_cast<Canary>(i))) + (i + 1 < kCanaries ? "," : ".");
    const bool fits = i == 1 || line + 1 + name.size() <= kLineMax;
    if (i > 1) text += fits ? " " : "\n";
    text += name;
    line = (fits ? line + 1 : 0) + name.size();
  }
  return text;
}

}  // namespace

Scenario Options::scenario(std::uint64_t seed) const {
  Scenario scenario = make_scenario(seed, canary, subject);
  scenario.bounds = table;
  scenario.leave_out(without);
  if (only) scenario.leave_only(*only);
  return scenario;
}

std::string help_text() {
  return R"(usage: prophecy-sim [--seeds N] [--first SEED] [--jobs N] [--canary NAME]
       prophecy-sim --seed SEED [--trace] [--shrink] [--without LIST | --only LIST]
                    [--canary NAME]
       and with each of them [--bounds FILE] [--origins]

Runs whole groups of replicas with their clients in virtual time, one for each seed. A seed stands
for a scenario: the size of the group, its settings, and a list of ingredients (calls, and faults
of the network, of replicas and of clients). The same seed is the same run, on every machine.

  --seeds N       so many seeds, 1000 unless given; the first that fails ends it
  --first SEED    from this one on, 1 unless given
  --jobs N        processes at a time, one for each core unless given; the result does not
                  depend on it
  --seed SEED     this one alone; prints its scenario, with the ingredients' numbers
  --trace         every message and every fault as it happens
  --shrink        finds a few ingredients of a failing seed that suffice to make it fail
  --without LIST  leaves out these ingredients, "3,5,7"
  --only LIST     leaves out all others
  --canary NAME   builds a defect in; with --seeds, it has to be found
  --origins       groups of up to seven alone, in each of which writes crash at origins, or states
                  are full, or cannot be captured and restored: other scenarios than without it
  --bounds FILE   checks what each step costs against the table in FILE, docs/protocol.md
  --help          this text

Canaries: )" +
         canaries() + R"(

The exit status is 0 when all checks held (or a canary was found), 1 when one was violated (or a
canary was not found, or there was nothing to shrink), and 2 for wrong usage.
)";
}

std::optional<Options> parse_options(const std::vector<std::string_view>& arguments) {
  Options options;
  options.jobs = std::min(std::max(std::thread::hardware_concurrency(), 1U), kJobsMax);
  bool one = false;
  bool many = false;
  bool shrinks = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view option = arguments[i];
    if (option == "--help") {
      options.task = Task::help;
      return options;
    }
    if (option == "--trace") {
      options.trace = true;
      continue;
    }
    if (option == "--origins") {
      options.subject = Subject::origins;
      continue;
    }
    if (option == "--shrink") {
      shrinks = true;
      continue;
    }
    if (++i == arguments.size()) return std::nullopt;
    const std::string_view value = arguments[i];
    bool good = false;
    if (option == "--seeds") {
      many = good = parse_number(value, options.seeds);
    } else if (option == "--first") {
      many = good = parse_number(value, options.first);
    } else if (option == "--jobs") {
      many = good = parse_number(value, options.jobs);
    } else if (option == "--seed") {
      one = good = parse_number(value, options.first);
    } else if (option == "--canary") {
      const auto canary = parse_canary(value);
      good = canary.has_value();
      options.canary = canary.value_or(Canary::none);
    } else if (option == "--bounds") {
      options.bounds = value;
      options.table = read_bounds(options.bounds);
      good = options.table != nullptr;
    } else if (option == "--without") {
      auto list = parse_list(value);
      good = list.has_value();
      options.without = std::move(list).value_or(std::vector<std::uint32_t>());
    } else if (option == "--only") {
      options.only = parse_list(value);
      good = options.only.has_value();
    }
    if (!good) return std::nullopt;
  }
  if (one && many) return std::nullopt;
  if (one) {
    options.task = shrinks ? Task::shrink : Task::one_seed;
    options.seeds = 1;
  }
  if (!make_sense(options) || (shrinks && (!one || options.trace))) return std::nullopt;
  return options;
}

}  // namespace prophecy::simulation
