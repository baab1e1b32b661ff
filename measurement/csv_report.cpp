#include "measurement/csv_report.hpp"

#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace prophecy::measurement {
namespace {

std::string csv_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out += '"';
}

void write_urls(const MeasurementResult& result, std::ostream& out) {
  out << "method,url,answers,sketched,transient,sets_cookie,varies,weak,weak_transient,for_one_"
         "client,pairs,"
         "transitions,ratio,"
         "body_bytes\r\n";
  for (const UrlFigures& figures : result.figures) {
    const std::string_view key = result.urls.text_of(figures.url);
    const std::size_t space = key.find(' ');
    out << key.substr(0, space) << ',' << csv_text(key.substr(space + 1)) << ','
        << figures.all_answers();
    for (const std::uint64_t answers : figures.answers)
      out << ',' << answers;
    out << ',' << figures.sketched.pairs << ',' << figures.sketched.transitions << ','
        << figures.sketched.ratio() << ',' << figures.body_bytes << "\r\n";
  }
}

void write_curve(const Curve& curve, std::string_view first_column, std::ostream& out) {
  for (std::size_t step = 0; step < kCurveSteps; ++step) {
    out << first_column << curve.minimum << ',' << name_of(curve.weight) << ',' << curve.urls << ','
        << static_cast<double>(step) / static_cast<double>(kCurveSteps - 1) << ','
        << curve.shares[step] << "\r\n";
  }
}

void write_figure_14(const Figures& figures, std::ostream& out) {
  out << "minimum,weight,urls,ratio,share\r\n";
  for (const Curve& curve : figures.figure_14)
    write_curve(curve, "", out);
}

void write_figure_15(const Figures& figures, std::ostream& out) {
  out << "party,minimum,weight,urls,ratio,share\r\n";
  for (const PartyFigures& party : figures.figure_15) {
    for (const Curve& curve : party.curves)
      write_curve(curve, std::string(party.party) + ',', out);
  }
}

void write_figure_16(const Figures& figures, std::ostream& out) {
  out << "site,minimum,weight,urls,ratio,share\r\n";
  for (const SiteCurve& site : figures.figure_16)
    write_curve(site.curve, csv_text(site.site) + ',', out);
}

void write_sites(const Figures& figures, std::ostream& out) {
  out << "site,urls,answers,pairs,transitions,ratio,static_share,body_bytes\r\n";
  for (const SiteFigures& site : figures.sites) {
    out << csv_text(site.site) << ',' << site.urls << ',' << site.answers << ',' << site.pairs.pairs
        << ',' << site.pairs.transitions << ',' << site.pairs.ratio() << ',' << site.static_share
        << ',' << site.body_bytes << "\r\n";
  }
}

template <class Write>
Result<> write_file(const std::filesystem::path& path, Write write) {
  std::ofstream file(path, std::ios::binary);
  write(file);
  file.close();
  if (!file) return io_error(path.string());
  return {};
}

}  // namespace

Result<> write_csv(const MeasurementResult& result, const Figures& figures,
                   const std::filesystem::path& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  auto written = write_file(folder / "urls.csv", [&](auto& out) { write_urls(result, out); });
  if (written) {
    written =
        write_file(folder / "figure_14.csv", [&](auto& out) { write_figure_14(figures, out); });
  }
  if (written) {
    written =
        write_file(folder / "figure_15.csv", [&](auto& out) { write_figure_15(figures, out); });
  }
  if (written) {
    written =
        write_file(folder / "figure_16.csv", [&](auto& out) { write_figure_16(figures, out); });
  }
  if (!written) return written;
  return write_file(folder / "sites.csv", [&](auto& out) { write_sites(figures, out); });
}

}  // namespace prophecy::measurement
