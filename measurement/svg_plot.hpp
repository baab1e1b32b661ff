// Line plots as SVG: distributions over transition ratios. They stand in a page, whose style they
// take, or in a file of their own.
//
// No I/O. Plain functions.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace prophecy::measurement {

struct PlotLine {
  std::string label;
  std::span<const double> shares;  // at equal steps from the left edge to the right one; 0 to 1
};

struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<PlotLine> lines;
  bool overlay = false;  // many lines of one kind: thin, without a legend
};

// `own_file`: with everything that a file of its own needs.
[[nodiscard]] std::string svg_of(const Plot& plot, bool own_file);

// The style of plots in a page.
[[nodiscard]] std::string_view plot_style();

// For texts and attributes of HTML and SVG. Control characters and what is no UTF-8 become U+FFFD.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace prophecy::measurement
