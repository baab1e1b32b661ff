#include "bench/load/history_load_command.hpp"

#include <iostream>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "bench/load/history_load.hpp"
#include "history_table/history_table.hpp"

namespace prophecy::tools {
namespace {

using Json = nlohmann::ordered_json;

struct HistoryOptions {
  HistoryLoadSettings load;
  std::string file;
};

Json report_json(const HistoryLoadSettings& settings, const HistoryLoadReport& report) {
  return {
      {"offered", settings.entries},
      {"entries", report.stats.entries},
      {"evictions", report.stats.evictions},
      {"capacity", report.stats.capacity},
      {"bytes", report.bytes},
      {"huge_bytes", report.huge_bytes},
      {"bare_loads_per_second", report.memory.loads},
      {"bare_load_ns", report.memory.latency_ns},
      {"inserts_per_second", report.inserts},
      {"lookups_per_second", report.lookups},
      {"lookups_ahead_per_second", report.lookups_ahead},
      {"updates_per_second", report.updates},
      {"lookups_of_two_per_second", report.lookups_of_two},
      {"lookups_beside_updates_per_second", report.lookups_beside_updates},
      {"sketch_us", report.sketch_micros},
  };
}

int run_history(HistoryOptions& options) {
  if (!options.file.empty()) options.load.file = options.file;
  const auto report = run_history_load(options.load);
  if (!report) {
    std::cerr << "prophecy-bench: " << report.error().message << '\n';
    return report.error().kind == ErrorKind::invalid ? 2 : 1;
  }
  std::cout << report_json(options.load, *report).dump() << '\n';
  return 0;
}

}  // namespace

void add_history_load_command(Command program) {
  auto options = std::make_shared<HistoryOptions>();
  const Command command = program.add_command("table", "Fills a history table, and uses it.");
  HistoryLoadSettings& load = options->load;
  command.add("--entries", load.entries, "Keys that it is offered")
      .required()
      .between(1, 10'000'000'000);
  command.add("--bytes", load.bytes, "Its size").required();
  command.add("--file", options->file, "Where it lies, in place of memory");
  command.add("--seconds", load.seconds, "Of each measurement")
      .shows_default()
      .within(0.01, 3600.0);
  command.on_run([options] { return run_history(*options); });
}

}  // namespace prophecy::tools
