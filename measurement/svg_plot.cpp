#include "measurement/svg_plot.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace prophecy::measurement {
namespace {

constexpr double kWidth = 400;
constexpr double kHeight = 290;
constexpr double kLeft = 48;
constexpr double kRight = 22;
constexpr double kTop = 30;
constexpr double kBottom = 44;
constexpr double kLegendLine = 16;
constexpr std::size_t kColors = 6;

double x_of(double share) {
  return kLeft + share * (kWidth - kLeft - kRight);
}
double y_of(double share) {
  return kHeight - kBottom - share * (kHeight - kTop - kBottom);
}

std::string axes_of(const Plot& plot) {
  std::string out;
  for (int percent = 0; percent <= 100; percent += 25) {
    const double share = percent / 100.0;
    out += fmt::format(
        "<path class=\"grid\" d=\"M{0:.1f} {1:.1f}H{2:.1f}M{3:.1f} {4:.1f}V{5:.1f}\"/>"
        "<text class=\"tick\" text-anchor=\"end\" x=\"{6:.1f}\" y=\"{7:.1f}\">{8} %</text>"
        "<text class=\"tick\" text-anchor=\"middle\" x=\"{3:.1f}\" y=\"{9:.1f}\">{8} %</text>",
        x_of(0), y_of(share), x_of(1), x_of(share), y_of(0), y_of(1), kLeft - 5, y_of(share) + 4,
        percent, y_of(0) + 15);
  }
  out += fmt::format(
      "<text class=\"label\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
      (x_of(0) + x_of(1)) / 2, kHeight - 10, escaped(plot.x_label));
  out += fmt::format("<text class=\"title\" x=\"{:.1f}\" y=\"16\">{}</text>", 6.0,
                     escaped(plot.title));
  return out;
}

// The share stays until the next step, where it rises.
std::string line_path(const PlotLine& line) {
  std::string path;
  const std::size_t count = line.shares.size();
  double last = -1;
  for (std::size_t i = 0; i < count; ++i) {
    const double share = line.shares[i];
    const double x =
        x_of(static_cast<double>(i) / static_cast<double>(std::max<std::size_t>(count - 1, 1)));
    if (i == 0) {
      path = fmt::format("M{:.1f} {:.1f}", x, y_of(share));
    } else if (share != last || i + 1 == count) {
      path += fmt::format("H{:.1f}V{:.1f}", x, y_of(share));
    }
    last = share;
  }
  return path;
}

std::string legend_of(const Plot& plot) {
  std::string out;
  double y = y_of(0) - 8 - kLegendLine * static_cast<double>(plot.lines.size() - 1);
  for (std::size_t i = 0; i < plot.lines.size(); ++i) {
    out += fmt::format(
        "<path class=\"line c{}\" d=\"M{:.1f} {:.1f}h18\"/><text class=\"key\" x=\"{:.1f}\" "
        "y=\"{:.1f}\">{}</text>",
        i % kColors, x_of(1) - 150, y - 4, x_of(1) - 126, y, escaped(plot.lines[i].label));
    y += kLegendLine;
  }
  return out;
}

// The length of the UTF-8 sequence that begins here; 0: it is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first < 0x20 && first != '\n' && first != '\t' ? 0 : 1;
  const std::size_t length = first >= 0xf0 && first < 0xf5   ? 4
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xc2 && first < 0xe0 ? 2
                                                             : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what lies beyond Unicode.
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0) ||
      (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90)) {
    return 0;
  }
  return length;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (length > 1) {
      out += text.substr(0, length);
    } else if (text[0] == '<') {
      out += "&lt;";
    } else if (text[0] == '>') {
      out += "&gt;";
    } else if (text[0] == '&') {
      out += "&amp;";
    } else if (text[0] == '"') {
      out += "&quot;";
    } else {
      out.push_back(text[0]);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string_view plot_style() {
  return ".plot{width:100%;height:auto;font-family:inherit}"
         ".plot .grid{stroke:var(--grid,#d8dde3);stroke-width:1;fill:none}"
         ".plot .tick{font-size:11px;fill:var(--soft,#5c6773)}"
         ".plot .label{font-size:12px;fill:var(--soft,#5c6773)}"
         ".plot .key{font-size:12px;fill:var(--text,#1b2430)}"
         ".plot .title{font-size:14px;font-weight:600;fill:var(--text,#1b2430)}"
         ".plot .line{fill:none;stroke-width:2}"
         ".plot .thin{fill:none;stroke-width:1;stroke-opacity:.45;stroke:var(--c0,#1f6feb)}"
         ".plot .thin:hover{stroke-width:3;stroke-opacity:1}"
         ".c0{stroke:var(--c0,#1f6feb)}.c1{stroke:var(--c1,#d9730d)}.c2{stroke:var(--c2,#2da44e)}"
         ".c3{stroke:var(--c3,#8250df)}.c4{stroke:var(--c4,#cf222e)}.c5{stroke:var(--c5,#57606a)}";
}

std::string svg_of(const Plot& plot, bool own_file) {
  std::string out = fmt::format(
      "<svg class=\"plot\" role=\"img\" viewBox=\"0 0 {} {}\"{}><title>{}</title>", kWidth, kHeight,
      own_file ? " xmlns=\"http://www.w3.org/2000/svg\" font-family=\"sans-serif\"" : "",
      escaped(plot.y_label));
  if (own_file) {
    out += fmt::format("<style>{}</style><rect width=\"{}\" height=\"{}\" fill=\"#fff\"/>",
                       plot_style(), kWidth, kHeight);
  }
  out += axes_of(plot);
  for (std::size_t i = 0; i < plot.lines.size(); ++i) {
    const std::string kind = plot.overlay ? "thin" : fmt::format("line c{}", i % kColors);
    out += fmt::format("<path class=\"{}\" d=\"{}\"><title>{}</title></path>", kind,
                       line_path(plot.lines[i]), escaped(plot.lines[i].label));
  }
  if (plot.lines.empty()) {
    out += fmt::format(
        "<text class=\"label\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">no URL had so many "
        "requests</text>",
        (x_of(0) + x_of(1)) / 2, (y_of(0) + y_of(1)) / 2);
  } else if (!plot.overlay) {
    out += legend_of(plot);
  }
  return out + "</svg>";
}

}  // namespace prophecy::measurement
