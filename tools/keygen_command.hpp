// `prophecyctl keygen`: the command line of tools/keygen.hpp.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace prophecy::tools {

// Adds the subcommand. When the command line asks for it, `action` is set to what main() is to
// run: it returns the exit status (0, or 2 for a request that cannot be carried out, 1 for a
// failure), and has said on standard error why.
void add_keygen_command(CLI::App& app, std::function<int()>& action);

}  // namespace prophecy::tools
