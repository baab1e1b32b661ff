#include "measurement/proposal/canonical_proposal.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/config/config.hpp"
#include "http/http_date.hpp"
#include "http/text.hpp"
#include "measurement/totals.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::string_view kProposed = "all rules";
// Fields that alone made transitions and that no rule settles, in the comments.
constexpr std::size_t kUnsettledShown = 20;

struct Setting {
  std::string line;
  std::string_view name;
};

std::string list_line(std::string_view name, const std::set<std::string>& values) {
  return fmt::format("{} = [\"{}\"]", name, fmt::join(values, "\", \""));
}

std::vector<Setting> proposed_settings(const RuleCandidates& rules) {
  std::vector<Setting> settings;
  if (!rules.dropped().empty()) {
    settings.push_back(
        {list_line("dropped_answer_headers", rules.dropped()), "dropped_answer_headers"});
  }
  if (const auto limit = rules.last_modified_max()) {
    const auto text = http::http_date_text(*limit);
    settings.push_back(
        {fmt::format("last_modified_max = \"{}\"", std::string_view(text.data(), text.size())),
         "last_modified_max"});
  }
  if (!rules.authorities().empty()) {
    settings.push_back(
        {list_line("origin_authorities", rules.authorities()), "origin_authorities"});
  }
  return settings;
}

// Settings that let more answers be sketched.
std::vector<Setting> further_settings(const RuleCandidates& rules) {
  std::vector<Setting> settings;
  if (rules.sets_cookie() > 0)
    settings.push_back({"remember_set_cookie = true", "remember_set_cookie"});
  if (!rules.keyed().empty()) {
    settings.push_back({list_line("keyed_headers", rules.keyed()), "keyed_headers"});
  }
  if (rules.varies_by_address())
    settings.push_back({"key_client_address = true", "key_client_address"});
  return settings;
}

Result<sketch::Profile> profile_of(Result<ConfigFile> file) {
  if (!file) return std::move(file.error());
  auto profile = sketch::Profile::from_config(file->root().section("canonical"));
  if (auto outcome = file->finish(); !outcome) return std::move(outcome.error());
  return profile;
}

// Sketches in logs are of one canonical form, and a pipe is read once.
bool can_be_read_again(const MeasurementResult& result) {
  return std::all_of(result.inputs.begin(), result.inputs.end(), [](const InputFigures& input) {
    std::error_code problem;
    return !input.format.ends_with("sketch log") && !input.format.starts_with("sketcher's") &&
           std::filesystem::is_regular_file(input.file, problem);
  });
}

Result<RuleTrial> try_settings(const AnalyzeOptions& options, std::string name,
                               const std::string& lines) {
  auto profile = profile_of(ConfigFile::parse("[canonical]\n" + lines, "the proposal"));
  if (!profile) return std::move(profile.error());
  AnalyzeOptions again = options;
  again.profile = std::move(*profile);
  again.sketch_log.clear();
  again.prefixes.clear();
  again.spool_bytes = 0;
  const auto result = analyze(again);
  if (!result) return result.error();
  const Totals totals = totals_of(*result);
  return RuleTrial{std::move(name), totals.by_kind[static_cast<std::size_t>(AnswerKind::sketched)],
                   totals.sketched, totals.static_urls};
}

std::string lines_of(const std::vector<Setting>& settings) {
  std::string lines;
  for (const Setting& setting : settings)
    lines.append(setting.line).append("\n");
  return lines;
}

std::string shown(const Pairs& pairs) {
  return fmt::format("{} of {} pairs differ, {:.1f} %", pairs.transitions, pairs.pairs,
                     100 * pairs.ratio());
}

std::string shown(const RuleTrial& trial) {
  return fmt::format("{}; {} URLs do not change", shown(trial.pairs), trial.static_urls);
}

const RuleTrial* trial_of(const MeasurementResult& result, std::string_view name) {
  const auto found = std::find_if(result.trials.begin(), result.trials.end(),
                                  [&](const RuleTrial& trial) { return trial.settings == name; });
  return found == result.trials.end() ? nullptr : &*found;
}

void append_candidates(const MeasurementResult& result, const Pairs& all, std::string& text) {
  for (const auto& [rules, transitions] : result.rules.transitions()) {
    const Pairs then{all.pairs, all.transitions - std::min(transitions, all.transitions)};
    text += fmt::format("# {} transitions by {}{}: without them {:.1f} %\n", transitions, rules,
                        rules.find(',') == std::string::npos ? " alone" : " together",
                        100 * then.ratio());
  }
}

// Fields that no rule may take out of an answer.
void append_unsettled(const MeasurementResult& result, std::string& text) {
  std::size_t lines = 0;
  for (const auto& [names, transitions] : result.causes.by_fields()) {
    const bool is_one = http::is_token(names);
    const bool is_reference = names == "location" || names == "content-location";
    const bool is_settled =
        result.rules.dropped().contains(names) ||
        (is_reference && !result.rules.authorities().empty()) ||
        (names == "last-modified" && result.rules.last_modified_max().has_value());
    if (!is_one || is_settled || ++lines > kUnsettledShown) continue;
    text += fmt::format("# {} transitions by {} alone: {}\n", transitions, names,
                        names == "expires" ? "send max-age beside it, or leave it out"
                                           : "no rule may leave it out, the site has to keep it");
  }
}

std::string_view warning_of(std::string_view setting) {
  if (setting == "remember_set_cookie") return "only if the site sets one cookie for all clients";
  if (setting == "keyed_headers") return "each value then has answers of its own in the history";
  return "each client's address then has answers of its own in the history";
}

}  // namespace

Result<sketch::Profile> read_canonical(const std::filesystem::path& file) {
  return profile_of(ConfigFile::load(file));
}

Result<> try_rules(MeasurementResult& result, const AnalyzeOptions& options) {
  const std::vector<Setting> proposed = proposed_settings(result.rules);
  const std::vector<Setting> further = further_settings(result.rules);
  result.trials.clear();
  if ((proposed.empty() && further.empty()) || !can_be_read_again(result)) return {};
  const auto try_them = [&](std::string name, const std::string& lines) -> Result<> {
    auto trial = try_settings(options, std::move(name), lines);
    if (!trial) return std::move(trial.error());
    result.trials.push_back(std::move(*trial));
    return {};
  };
  const std::string lines = lines_of(proposed);
  if (!proposed.empty()) {
    if (auto outcome = try_them(std::string(kProposed), lines); !outcome) return outcome;
  }
  for (const Setting& setting : further) {
    auto outcome = try_them(std::string(setting.name), lines + setting.line + '\n');
    if (!outcome) return outcome;
  }
  return {};
}

std::string canonical_text(const MeasurementResult& result) {
  const Totals totals = totals_of(result);
  const std::vector<Setting> proposed = proposed_settings(result.rules);
  const std::vector<Setting> further = further_settings(result.rules);
  std::string text = fmt::format(
      "# Proposed by prophecy-measure " PROPHECY_VERSION
      ", to be read before it is used.\n"
      "# For the group file. Clients do not get a dropped field, and see no later Last-Modified:\n"
      "# make sure that nobody needs them.\n"
      "# Measured: {}; {} URLs do not change.\n",
      shown(totals.sketched), totals.static_urls);
  append_candidates(result, totals.sketched, text);
  append_unsettled(result, text);
  if (const RuleTrial* trial = trial_of(result, kProposed)) {
    text += fmt::format("# Tried on the inputs, all together: {}.\n", shown(*trial));
  } else if (!proposed.empty()) {
    text += "# Not tried: an input is a sketch log, or cannot be read twice.\n";
  }
  text += "[canonical]\n";
  if (proposed.empty()) text += "# No rule is worth it.\n";
  text += lines_of(proposed);
  for (const Setting& setting : further) {
    text += fmt::format("# {}  # {}", setting.line, warning_of(setting.name));
    if (const RuleTrial* trial = trial_of(result, setting.name)) {
      text += fmt::format(". Tried: {} answers could be held in place of {}; {}", trial->sketched,
                          totals.by_kind[static_cast<std::size_t>(AnswerKind::sketched)],
                          shown(*trial));
    }
    text += '\n';
  }
  return text;
}

}  // namespace prophecy::measurement
