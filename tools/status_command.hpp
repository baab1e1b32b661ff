// `prophecyctl status`: what a running sketcher or replica says of itself.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace prophecy::tools {

// Adds the subcommand. When the command line asks for it, `action` is set to what main() is to
// run; it returns the exit status.
void add_status_command(CLI::App& app, std::function<int()>& action);

}  // namespace prophecy::tools
