// prophecyctl history get, whitelist, blacklist, unmark, forget: one request after another, named
// by URL and headers.
#pragma once

#include "base/command_line/command_line.hpp"

namespace prophecy::tools {

void add_history_request_commands(Command history);

}  // namespace prophecy::tools
