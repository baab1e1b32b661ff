// `prophecy-bench table`: what a history table does on this machine.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace prophecy::tools {

// As add_pbft_load_command.
void add_history_load_command(CLI::App& app, std::function<int()>& action);

}  // namespace prophecy::tools
