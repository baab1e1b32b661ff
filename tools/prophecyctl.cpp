// prophecyctl: the operator's tool. Makes keys, and asks and tells running programs on their admin
// sockets.
#include "base/command_line/command_line.hpp"
#include "tools/adopt_command.hpp"
#include "tools/compare_command.hpp"
#include "tools/divergences_command.hpp"
#include "tools/fields_command.hpp"
#include "tools/history_commands.hpp"
#include "tools/keygen_command.hpp"
#include "tools/metrics_command.hpp"
#include "tools/mode_commands.hpp"
#include "tools/origin_commands.hpp"
#include "tools/ring_command.hpp"
#include "tools/status_command.hpp"
#include "tools/transitions_command.hpp"

int main(int argc, char** argv) {
  prophecy::CommandLine line("prophecyctl",
                             "Operates Prophecy: keys, status, evidence of divergences, modes, "
                             "origins, history, the ring, transitions.",
                             PROPHECY_VERSION);
  const prophecy::Command program = line.program();
  program.needs_command();
  prophecy::tools::add_keygen_command(program);
  prophecy::tools::add_status_command(program);
  prophecy::tools::add_metrics_command(program);
  prophecy::tools::add_compare_command(program);
  prophecy::tools::add_divergences_command(program);
  prophecy::tools::add_fields_command(program);
  prophecy::tools::add_route_command(program);
  prophecy::tools::add_bypass_command(program);
  prophecy::tools::add_origin_commands(program);
  prophecy::tools::add_history_commands(program);
  prophecy::tools::add_ring_command(program);
  prophecy::tools::add_transitions_command(program);
  prophecy::tools::add_adopt_command(program);
  if (const auto status = line.parse(argc, argv)) return *status;
  return line.run();
}
