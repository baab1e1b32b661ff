// prophecyctl origin list, prophecyctl origin set: the health of a sketcher's origins, and taking
// them out and in.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace prophecy::tools {

void add_origin_commands(CLI::App& app, std::function<int()>& action);

}  // namespace prophecy::tools
