// prophecyctl history get, whitelist, blacklist, unmark, forget: one request after another, named
// by URL and headers.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace prophecy::tools {

void add_history_request_commands(CLI::App& history, std::function<int()>& action);

}  // namespace prophecy::tools
