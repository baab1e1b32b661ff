// prophecy-bench: load for measurements, and what came of it as JSON.
#include "base/command_line/command_line.hpp"
#include "bench/load/history_load_command.hpp"
#include "bench/load/pbft_load_command.hpp"

int main(int argc, char** argv) {
  prophecy::CommandLine line("prophecy-bench", "Puts load on parts of Prophecy, and measures them.",
                             PROPHECY_VERSION);
  const prophecy::Command program = line.program();
  program.needs_command();
  prophecy::tools::add_history_load_command(program);
  prophecy::tools::add_pbft_load_command(program);
  if (const auto status = line.parse(argc, argv)) return *status;
  return line.run();
}
