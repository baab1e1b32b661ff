#include "measurement/svg_report.hpp"

#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "base/assert.hpp"

namespace prophecy::measurement {
namespace {

constexpr const char* kRatios = "transition ratio, at most";

std::string_view plural_of(Weight weight) {
  switch (weight) {
    case Weight::url:
      return "URLs";
    case Weight::request:
      return "requests";
    case Weight::bytes:
      return "bytes";
  }
  UNREACHABLE();
}

Plot figure_14(const Figures& figures, Weight weight) {
  Plot plot{fmt::format("Figure 14, by {}", plural_of(weight)),
            kRatios,
            fmt::format("share of {} at or below each transition ratio", plural_of(weight)),
            {}};
  for (const Curve& curve : figures.figure_14) {
    if (curve.weight != weight || curve.urls == 0) continue;
    plot.lines.push_back(
        {fmt::format("{}+ requests: {} URLs", curve.minimum, curve.urls), curve.shares});
  }
  return plot;
}

Plot figure_15(const Figures& figures) {
  Plot plot{"Figure 15, first and third party",
            kRatios,
            "share of URLs at or below each transition ratio, by party",
            {}};
  for (const PartyFigures& party : figures.figure_15) {
    for (const Curve& curve : party.curves) {
      if (curve.weight != Weight::url || curve.urls == 0) continue;
      plot.lines.push_back(
          {fmt::format("{} party: {} URLs", party.party, curve.urls), curve.shares});
    }
  }
  return plot;
}

Plot figure_16(const Figures& figures) {
  Plot plot{fmt::format("Figure 16, {} sites", figures.figure_16.size()),
            kRatios,
            "share of each site's URLs at or below each transition ratio",
            {},
            true};
  plot.lines.reserve(figures.figure_16.size());
  for (const SiteCurve& site : figures.figure_16)
    plot.lines.push_back(
        {fmt::format("{}: {} URLs", site.site, site.curve.urls), site.curve.shares});
  return plot;
}

}  // namespace

std::vector<NamedPlot> plots_of(const Figures& figures) {
  std::vector<NamedPlot> plots;
  for (const Weight weight : kWeights) {
    plots.push_back({fmt::format("figure_14_{}", plural_of(weight)), figure_14(figures, weight)});
  }
  if (!figures.figure_15.empty()) plots.push_back({"figure_15", figure_15(figures)});
  plots.push_back({"figure_16", figure_16(figures)});
  return plots;
}

Result<> write_plots(const Figures& figures, const std::filesystem::path& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  for (const NamedPlot& named : plots_of(figures)) {
    const std::filesystem::path path = folder / (named.name + ".svg");
    std::ofstream file(path, std::ios::binary);
    file << svg_of(named.plot, true) << '\n';
    file.close();
    if (!file) return io_error(path.string());
  }
  return {};
}

}  // namespace prophecy::measurement
