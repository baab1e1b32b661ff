// Figures 14 to 16 as plots, for the page and as SVG files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "measurement/figures.hpp"
#include "measurement/svg_plot.hpp"

namespace prophecy::measurement {

struct NamedPlot {
  std::string name;  // of the file, without its ending
  Plot plot;
};

// They look into the figures.
[[nodiscard]] std::vector<NamedPlot> plots_of(const Figures& figures);

// Makes the folder if it is not there, and replaces files of the same names.
[[nodiscard]] Result<> write_plots(const Figures& figures, const std::filesystem::path& folder);

}  // namespace prophecy::measurement
