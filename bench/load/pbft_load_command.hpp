// `prophecy-bench pbft`: load on a replica group, and what it could do.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace prophecy::tools {

// Adds the subcommand. When the command line asks for it, `action` is set to what main() is to
// run; it returns the exit status.
void add_pbft_load_command(CLI::App& app, std::function<int()>& action);

}  // namespace prophecy::tools
