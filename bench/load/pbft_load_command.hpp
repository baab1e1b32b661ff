// `prophecy-bench pbft`: load on a replica group, and what it could do.
#pragma once

#include "base/command_line/command_line.hpp"

namespace prophecy::tools {

// Adds the command. Its run returns the exit status.
void add_pbft_load_command(Command program);

}  // namespace prophecy::tools
