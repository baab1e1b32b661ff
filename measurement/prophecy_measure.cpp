// prophecy-measure: how much of a site is static enough for fast reads, from captures of its
// answers (section 8 of the paper).
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "measurement/analyze.hpp"
#include "measurement/csv_report.hpp"
#include "measurement/figures.hpp"
#include "measurement/json_report.hpp"
#include "measurement/text_report.hpp"

namespace {

using namespace prophecy::measurement;

constexpr int kUnusable = 2;
constexpr std::size_t kDamageShown = 20;

struct Outputs {
  std::string json;
  std::string csv;
  std::vector<std::string> sites;
  PartyMode party_mode = PartyMode::list;
};

int fail(const std::string& problem) {
  std::cerr << "prophecy-measure: " << problem << '\n';
  return kUnusable;
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
  const auto result = analyze(options);
  if (!result) return fail(result.error().message);
  show_damage(*result);
  std::optional<Parties> parties;
  if (!outputs.sites.empty()) parties.emplace(outputs.party_mode, outputs.sites);
  const Figures figures = figures_of(*result, parties);
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
  if (outputs.json != "-") write_text(*result, figures, std::cout);
  std::cout.flush();
  if (!std::cout) return fail(prophecy::io_error("standard output").message);
  return exit_status(*result);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Measures how often answers change, from captures of a site."};
  app.set_version_flag("--version", "prophecy-measure " PROPHECY_VERSION);
  app.require_subcommand(1);
  AnalyzeOptions options;
  Outputs outputs;
  const char* folder = std::getenv("TMPDIR");
  options.temporary_folder = folder != nullptr && *folder != '\0' ? folder : "/tmp";
  CLI::App* command = app.add_subcommand(
      "analyze", "Counts transitions in captures: the share of answers that differ from the last.");
  command->add_option("INPUT", options.inputs, "WARC, CDX, access logs; also as .gz")->required();
  command->add_option("--json", outputs.json, "write the result as JSON; -: to standard output");
  command->add_option("--csv", outputs.csv, "write the result as CSV files into this folder");
  command->add_option("--site", outputs.sites, "a measured site's host name: first party")
      ->allow_extra_args(false);
  const std::map<std::string, PartyMode> modes = {{"list", PartyMode::list},
                                                  {"same-site", PartyMode::same_site}};
  command
      ->add_option("--first-party", outputs.party_mode,
                   "list: --site's hosts and those below; same-site: their registrable domains")
      ->transform(CLI::CheckedTransformer(modes).description(""));
  command->add_option("--log-origin", options.log_origin,
                      "scheme and authority of the targets in access logs (http://localhost)");
  command
      ->add_option(
          "--spool", options.spool_bytes,
          "bytes for earlier bodies in a temporary file (1GiB); 0: bodies are not compared")
      ->transform(CLI::AsSizeValue(false));
  command->add_option("--temporary-folder", options.temporary_folder,
                      "for temporary files ($TMPDIR, /tmp)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUnusable;
  }
  return run(options, outputs);
}
