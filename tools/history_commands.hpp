// prophecyctl history: what a sketcher remembers.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace prophecy::tools {

void add_history_commands(CLI::App& app, std::function<int()>& action);

}  // namespace prophecy::tools
