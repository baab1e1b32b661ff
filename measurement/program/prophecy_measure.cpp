// prophecy-measure: how much of a site is static enough for fast reads, from captures of its
// answers (section 8 of the paper).
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/command_line/command_line.hpp"
#include "measurement/analyze.hpp"
#include "measurement/capture/capture_command.hpp"
#include "measurement/capture/capture_folder.hpp"
#include "measurement/capture/png_plots.hpp"
#include "measurement/complaint.hpp"
#include "measurement/csv_report.hpp"
#include "measurement/figures.hpp"
#include "measurement/html_report.hpp"
#include "measurement/input/url.hpp"
#include "measurement/json_report.hpp"
#include "measurement/live/follow_command.hpp"
#include "measurement/program/compare_command.hpp"
#include "measurement/program/generate_command.hpp"
#include "measurement/proposal/canonical_proposal.hpp"
#include "measurement/proposal/proposal.hpp"
#include "measurement/svg_report.hpp"
#include "measurement/text_report.hpp"

namespace {

using namespace prophecy::measurement;

constexpr std::size_t kDamageShown = 20;

struct Outputs {
  std::string json;
  std::string csv;
  std::string plots;
  bool png = false;
  std::string browser = "chromium";
  std::string report;
  std::string proposal;
  std::string canonical;
  std::vector<std::string> sites;
  FigureOptions figures;
  std::string party = "list";
  PartyMode party_mode = PartyMode::list;
};

bool is_input(const std::string& file, const AnalyzeOptions& options) {
  const auto is_same = [&](const std::string& input) {
    std::error_code problem;
    return std::filesystem::equivalent(file, input, problem);
  };
  return !file.empty() &&
         (std::any_of(options.inputs.begin(), options.inputs.end(), is_same) ||
          std::any_of(options.access_logs.begin(), options.access_logs.end(), is_same));
}

void show_damage(const MeasurementResult& result) {
  for (const InputFigures& input : result.inputs) {
    std::size_t shown = 0;
    for (const Damage& damage : input.damage) {
      if (++shown > kDamageShown) break;
      std::cerr << "prophecy-measure: " << input.file << ": offset " << damage.offset << ": "
                << damage.problem << '\n';
    }
    if (input.damage_count > kDamageShown) {
      std::cerr << "prophecy-measure: " << input.file << ": " << input.damage_count - kDamageShown
                << " more are damaged\n";
    }
  }
}

int run(const AnalyzeOptions& options, const Outputs& outputs) {
  auto result = analyze(options);
  if (!result) return fail(result.error().message);
  if (!outputs.proposal.empty()) {
    if (const auto tried = try_rules(*result, options); !tried) {
      return fail("--propose: " + tried.error().message);
    }
  }
  show_damage(*result);
  FigureOptions figure_options = outputs.figures;
  if (!outputs.sites.empty()) {
    figure_options.parties.emplace(outputs.party_mode, outputs.sites);
  }
  const Figures figures = figures_of(*result, figure_options);
  if (outputs.json == "-") {
    write_json(*result, figures, std::cout);
  } else if (!outputs.json.empty()) {
    std::ofstream file(outputs.json, std::ios::binary);
    write_json(*result, figures, file);
    file.close();
    if (!file) return fail(prophecy::io_error(outputs.json).message);
  }
  if (!outputs.csv.empty()) {
    if (const auto written = write_csv(*result, figures, outputs.csv); !written) {
      return fail(written.error().message);
    }
  }
  if (!outputs.plots.empty()) {
    if (const auto written = write_plots(figures, outputs.plots); !written) {
      return fail(written.error().message);
    }
  }
  if (outputs.png) {
    if (outputs.plots.empty()) return fail("--png: expected --plots as well");
    const auto written =
        write_png_plots(figures, outputs.plots, outputs.browser, options.temporary_folder);
    if (!written) return fail("--png: " + written.error().message);
  }
  if (!outputs.report.empty()) {
    std::ofstream file(outputs.report, std::ios::binary);
    write_html(*result, figures, file);
    file.close();
    if (!file) return fail(prophecy::io_error(outputs.report).message);
  }
  const Parties* parties = figure_options.parties ? &*figure_options.parties : nullptr;
  if (!outputs.proposal.empty()) {
    if (const auto written = write_proposal(*result, figures.cost, parties, outputs.proposal);
        !written) {
      return fail(written.error().message);
    }
  }
  if (outputs.json != "-") write_text(*result, figures, std::cout);
  std::cout.flush();
  if (!std::cout) return fail(prophecy::io_error("standard output").message);
  return exit_status(*result);
}

// What may be wrong with options that are well-formed. Yields the exit status, or runs.
int check_and_run(AnalyzeOptions& options, Outputs& outputs) {
  for (std::string& site : outputs.sites) {
    auto host = named_host(site);
    if (!host) return fail("--site: expected a host name, found \"" + site + "\"");
    site = std::move(*host);
  }
  auto origin = origin_of(options.log_origin);
  if (!origin) return fail("--log-origin: " + origin.error().message);
  options.log_origin = std::move(*origin);
  if (!outputs.canonical.empty()) {
    if (!outputs.proposal.empty()) {
      return fail("--propose: expected without --canonical: a proposal begins with the defaults");
    }
    auto profile = read_canonical(outputs.canonical);
    if (!profile) return fail("--canonical: " + profile.error().message);
    options.profile = std::move(*profile);
  }
  ExpandedInputs expanded = expand_captures(options.inputs);
  options.inputs = std::move(expanded.files);
  for (const std::string& message : expanded.messages)
    std::cerr << "prophecy-measure: " << message << '\n';
  for (const std::string& output : {options.sketch_log.string(), outputs.json, outputs.report}) {
    if (is_input(output, options)) return fail(output + ": an input, which would be overwritten");
  }
  outputs.party_mode = outputs.party == "list" ? PartyMode::list : PartyMode::same_site;
  return run(options, outputs);
}

void add_analyze(const prophecy::Command& program, prophecy::CommandLine& line,
                 AnalyzeOptions& options, Outputs& outputs) {
  const prophecy::Command command = program.add_command(
      "analyze", "Counts transitions in captures: the share of answers that differ from the last.");
  command.add("INPUT", options.inputs,
              "WARC, HAR, CDX, CDXJ, access logs, sketch logs, also as .gz; folders of captures");
  command
      .add("--access-log", options.access_logs,
           "an access log of Apache, nginx or HAProxy, even if its first line is damaged")
      .one_each();
  command.add("--json", outputs.json, "write the result as JSON; -: to standard output");
  command.add("--csv", outputs.csv, "write the result as CSV files into this folder");
  command.add("--plots", outputs.plots, "write the figures as SVG files into this folder");
  command.flag("--png", outputs.png, "with --plots: as PNG files, too, which a browser draws");
  command.add("--browser", outputs.browser, "for --png (chromium)");
  command.add("--report", outputs.report, "write one HTML page with all figures");
  command.add("--propose", outputs.proposal,
              "write a proposed configuration of the sketcher into this folder");
  command.add("--canonical", outputs.canonical,
              "a file with the [canonical] section by which answers are sketched (the defaults)");
  command.add("--prefixes", options.prefixes,
              "a file of address prefixes, each with a name, or a MaxMind database: the sites of "
              "figure 16");
  command.add("--minimum", outputs.figures.minimum,
              "requests that a URL needs to count in figures 15 and 16 (25)");
  command.add("--replicas", outputs.figures.cost.replicas, "of the group: N of the cost model (4)")
      .between(1, 1000);
  command.add("--fast-read-cost", outputs.figures.cost.fast_read, "C_r, in any unit (66)")
      .within(0, 1e12);
  command
      .add("--replicated-read-cost", outputs.figures.cost.replicated_read,
           "C_R, of one replica (58)")
      .within(0, 1e12);
  command.add("--history-cost", outputs.figures.cost.history, "C_hist (1)").within(0, 1e12);
  command.add("--sketch-log", options.sketch_log,
              "write all answers without their bodies into this file, for later analyses");
  command.add("--site", outputs.sites, "a measured site's host name: first party").one_each();
  command
      .add("--first-party", outputs.party,
           "list: --site's hosts and those below; same-site: their registrable domains")
      .one_of({"list", "same-site"});
  command.add("--log-origin", options.log_origin,
              "scheme and authority of the targets in access logs (http://localhost)");
  command
      .add("--spool", options.spool_bytes,
           "bytes for earlier bodies in a temporary file (1GiB); 0: bodies are not compared")
      .size();
  command.add("--temporary-folder", options.temporary_folder,
              "for temporary files ($TMPDIR, /tmp)");
  command.on_run([&] {
    if (options.inputs.empty() && options.access_logs.empty()) {
      return line.complain_without("INPUT");
    }
    return check_and_run(options, outputs);
  });
}

}  // namespace

int main(int argc, char** argv) {
  prophecy::CommandLine line("prophecy-measure",
                             "Measures how often answers change, from captures of a site.",
                             PROPHECY_VERSION);
  const prophecy::Command program = line.program();
  program.needs_command();
  AnalyzeOptions options;
  Outputs outputs;
  const char* folder = std::getenv("TMPDIR");
  options.temporary_folder = folder != nullptr && *folder != '\0' ? folder : "/tmp";
  add_analyze(program, line, options, outputs);
  GenerateOptions generate_options;
  add_generate(program, generate_options);
  FollowOptions follow_options;
  add_follow(program, follow_options);
  CaptureOptions capture_options;
  capture_options.temporary_folder = options.temporary_folder.string();
  add_capture(program, capture_options);
  CompareOptions compare_options;
  compare_options.temporary_folder = options.temporary_folder.string();
  add_compare(program, compare_options);
  if (const auto status = line.parse(argc, argv)) return *status;
  return line.run();
}
