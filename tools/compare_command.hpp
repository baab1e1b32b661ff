// prophecyctl compare
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace prophecy::tools {

void add_compare_command(CLI::App& app, std::function<int()>& action);

}  // namespace prophecy::tools
