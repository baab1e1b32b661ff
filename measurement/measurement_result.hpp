// `MeasurementResult` holds all that an analysis has found, as values. The reports write it, and
// compute nothing.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "measurement/analysis/change_causes.hpp"
#include "measurement/analysis/declared_caching.hpp"
#include "measurement/analysis/dynamic_data.hpp"
#include "measurement/analysis/rule_candidates.hpp"
#include "measurement/analysis/shared_answers.hpp"
#include "measurement/analysis/transitions.hpp"
#include "measurement/analysis/url_table.hpp"
#include "measurement/input/damage.hpp"
#include "measurement/url_sites.hpp"

namespace prophecy::measurement {

struct InputFigures {
  std::string file;
  std::string format;  // "WARC", "HAR", ...; "" where it is none that is known
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;
  std::uint64_t answers = 0;
  std::uint64_t other_methods = 0;
  std::uint64_t damage_count = 0;
  std::vector<Damage> damage;  // at most kDamageListedMax of them
  bool usable = true;
};

constexpr std::size_t kDamageListedMax = 1000;

// Settings of [canonical], and what the inputs show under them.
struct RuleTrial {
  std::string settings;  // their names
  std::uint64_t sketched = 0;
  Pairs pairs;
  std::uint64_t static_urls = 0;  // with a pair and no transition
};

struct MeasurementResult {
  std::vector<InputFigures> inputs;
  UrlTable urls;
  std::vector<UrlFigures> figures;  // of the URLs, in the order of their numbers
  UrlSites sites;
  DynamicData dynamic_data;
  ChangeCauses causes;
  RuleCandidates rules;
  std::vector<RuleTrial> trials;  // of the rules together, then with each further setting
  std::array<DeclaredFigures, kDeclaredNames.size()> declared{};  // by Declared
  std::vector<SharedAnswer> shared;
};

// 0: whole; 3: with damage; 2: an input is unusable.
[[nodiscard]] int exit_status(const MeasurementResult& result);

}  // namespace prophecy::measurement
