// `Figures` are the paper's: distributions over transition ratios, for all URLs, by party and by
// site, and the paper's own numbers beside them. The reports write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measurement/analysis/distribution.hpp"
#include "measurement/analysis/site.hpp"
#include "measurement/measurement_result.hpp"

namespace prophecy::measurement {

// Figure 15: curves at the paper's minimum number of requests.
struct PartyFigures {
  std::string_view party;  // "first" or "third"
  std::uint64_t urls = 0;
  Pairs pairs;
  std::vector<Curve> curves;  // by weight
};

struct SiteFigures {
  std::string site;
  std::uint64_t urls = 0;
  std::uint64_t answers = 0;
  std::uint64_t body_bytes = 0;
  Pairs pairs;
  double static_share = 0;  // of its URLs with pairs
};

struct PaperNumber {
  std::string_view claim;
  double paper = 0;
  double here = 0;
};

struct Figures {
  std::vector<Curve> figure_14;         // by minimum, by weight
  std::vector<PartyFigures> figure_15;  // empty if no sites are named
  std::vector<SiteFigures> sites;       // by answers, most first
  std::vector<PaperNumber> beside_the_paper;
  std::uint64_t urls_at_paper_minimum = 0;
};

[[nodiscard]] Figures figures_of(const MeasurementResult& result,
                                 const std::optional<Parties>& parties);

}  // namespace prophecy::measurement
