// prophecyctl fields
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace prophecy::tools {

void add_fields_command(CLI::App& app, std::function<int()>& action);

}  // namespace prophecy::tools
