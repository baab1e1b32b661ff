// prophecy-bench: load for measurements, and what came of it as JSON.
#include <iostream>

#include <CLI/CLI.hpp>

#include "bench/load/history_load_command.hpp"
#include "bench/load/pbft_load_command.hpp"

int main(int argc, char** argv) {
  CLI::App app{"Puts load on parts of Prophecy, and measures them.", "prophecy-bench"};
  app.set_version_flag("--version", "prophecy-bench " PROPHECY_VERSION);
  app.require_subcommand(1);
  std::function<int()> action;
  prophecy::tools::add_history_load_command(app, action);
  prophecy::tools::add_pbft_load_command(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return action();
}
