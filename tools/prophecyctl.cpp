// prophecyctl: the operator's tool. Makes keys, and asks and tells running programs on their admin
// sockets.
#include <iostream>

#include <CLI/CLI.hpp>

#include "tools/compare_command.hpp"
#include "tools/divergences_command.hpp"
#include "tools/fields_command.hpp"
#include "tools/history_commands.hpp"
#include "tools/keygen_command.hpp"
#include "tools/mode_commands.hpp"
#include "tools/origin_commands.hpp"
#include "tools/status_command.hpp"

int main(int argc, char** argv) {
  CLI::App app{
      "Operates Prophecy: keys, status, evidence of divergences, modes, origins, history."};
  app.set_version_flag("--version", "prophecyctl " PROPHECY_VERSION);
  app.require_subcommand(1);
  std::function<int()> action;
  prophecy::tools::add_keygen_command(app, action);
  prophecy::tools::add_status_command(app, action);
  prophecy::tools::add_compare_command(app, action);
  prophecy::tools::add_divergences_command(app, action);
  prophecy::tools::add_fields_command(app, action);
  prophecy::tools::add_route_command(app, action);
  prophecy::tools::add_bypass_command(app, action);
  prophecy::tools::add_origin_commands(app, action);
  prophecy::tools::add_history_commands(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return action();
}
