#include "measurement/program/compare_command.hpp"

#include <algorithm>
#include <fstream>
#include <iostream>

#include "measurement/analyze.hpp"
#include "measurement/capture/capture_folder.hpp"
#include "measurement/complaint.hpp"
#include "measurement/program/comparison.hpp"

namespace prophecy::measurement {
namespace {

Result<MeasurementResult> run_of(const std::string& input, const CompareOptions& options) {
  AnalyzeOptions analyzed;
  analyzed.inputs = expand_captures({input}).files;
  analyzed.temporary_folder = options.temporary_folder;
  analyzed.spool_bytes = 0;
  return analyze(analyzed);
}

int compare_inputs(const CompareOptions& options) {
  const auto first = run_of(options.first, options);
  if (!first) return fail(first.error().message);
  const auto second = run_of(options.second, options);
  if (!second) return fail(second.error().message);
  for (const MeasurementResult* result : {&*first, &*second}) {
    for (const InputFigures& input : result->inputs) {
      if (input.damage.empty()) continue;
      std::cerr << "prophecy-measure: " << input.file << ": " << input.damage_count
                << " damaged; the first: " << input.damage.front().problem << '\n';
    }
  }
  const Comparison comparison = compare(*first, *second);
  if (options.json == "-") {
    write_json(comparison, std::cout);
  } else {
    if (!options.json.empty()) {
      std::ofstream file(options.json, std::ios::binary);
      write_json(comparison, file);
      file.close();
      if (!file) return fail(io_error(options.json).message);
    }
    write_text(comparison, std::cout);
  }
  std::cout.flush();
  if (!std::cout) return fail(io_error("standard output").message);
  const int statuses[] = {exit_status(*first), exit_status(*second)};
  const bool is_unusable = statuses[0] == kUnusable || statuses[1] == kUnusable;
  return is_unusable ? kUnusable : std::max(statuses[0], statuses[1]);
}

}  // namespace

void add_compare(const Command& program, CompareOptions& options) {
  const Command command =
      program.add_command("compare", "Sets the ratios of two runs side by side, URL by URL.");
  command.add("FIRST", options.first, "a capture, or any other input of analyze").required();
  command.add("SECOND", options.second, "the same, later or after a change").required();
  command.add("--json", options.json, "write the result as JSON; -: to standard output");
  command.add("--temporary-folder", options.temporary_folder,
              "for temporary files ($TMPDIR, /tmp)");
  command.on_run([&options] { return compare_inputs(options); });
}

}  // namespace prophecy::measurement
