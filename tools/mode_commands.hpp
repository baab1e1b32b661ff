// prophecyctl route, prophecyctl bypass: how a running sketcher answers, changed at once and until
// its next start.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace prophecy::tools {

void add_route_command(CLI::App& app, std::function<int()>& action);
void add_bypass_command(CLI::App& app, std::function<int()>& action);

}  // namespace prophecy::tools
