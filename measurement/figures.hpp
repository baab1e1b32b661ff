// `Figures` are the paper's: distributions over transition ratios, for all URLs, by party and by
// site, and the paper's own numbers beside them; then what changes cost, and where. The reports
// write them, and compute nothing.
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

// Figure 16: a curve for each site, over its URLs.
struct SiteCurve {
  std::string site;
  Curve curve;
};
// The sites with most URLs have one.
constexpr std::size_t kSiteCurvesMax = 200;

struct SiteFigures {
  std::string site;
  std::uint64_t urls = 0;
  std::uint64_t answers = 0;
  std::uint64_t body_bytes = 0;
  Pairs pairs;
  double static_share = 0;  // of its URLs with pairs
};

// The cost model of section 3.4, in processor time of all replicas for one read. The defaults are
// microseconds that `./run bench fast-read` measured (README.md).
struct CostModel {
  std::uint32_t replicas = 4;   // N
  double fast_read = 66;        // C_r
  double replicated_read = 58;  // C_R, of one replica
  double history = 1;           // C_hist

  [[nodiscard]] double prophecy(double ratio) const {
    return fast_read + 2 * history + ratio * (replicas * replicated_read + history);
  }
  [[nodiscard]] double replicated() const { return replicas * replicated_read; }
  // PBFT's read optimisation, if it never fails.
  [[nodiscard]] double read_optimised() const { return replicas * fast_read; }
};

// A URL whose transitions cost much.
struct CostlyUrl {
  UrlNumber url = 0;
  Pairs pairs;
  std::uint64_t body_bytes = 0;
  const ChangeExample* example = nullptr;  // of the result; null: there is none
};
constexpr std::size_t kCostlyUrlsMax = 20;

struct FigureOptions {
  std::optional<Parties> parties{};
  std::uint64_t minimum = kPaperMinimum;  // of requests, in all but figure 14
  CostModel cost{};
};

struct PaperNumber {
  std::string_view claim;
  double paper = 0;
  double here = 0;
};

struct Figures {
  std::vector<Curve> figure_14;         // by minimum, by weight
  std::vector<PartyFigures> figure_15;  // empty if no sites are named
  std::vector<SiteCurve> figure_16;     // by URLs, most first
  std::uint64_t urls_without_site = 0;  // in figure 16, by prefix
  bool by_prefix = false;               // figure 16; else by registrable domain
  std::vector<SiteFigures> sites;       // by answers, most first
  std::vector<CostlyUrl> costly_urls;   // by transitions, most first
  CostModel cost;
  std::uint64_t minimum = kPaperMinimum;
  std::vector<PaperNumber> beside_the_paper;
  std::uint64_t urls_at_minimum = 0;
};

// The result must outlive the figures.
[[nodiscard]] Figures figures_of(const MeasurementResult& result, const FigureOptions& options);

}  // namespace prophecy::measurement
