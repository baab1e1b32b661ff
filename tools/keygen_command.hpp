// `prophecyctl keygen`: the command line of tools/keys/.
#pragma once

#include "base/command_line/command_line.hpp"

namespace prophecy::tools {

// Adds the command. Its run returns the exit status (0, or 2 for a request that cannot be carried
// out, 1 for a failure), and has said on standard error why.
void add_keygen_command(Command program);

}  // namespace prophecy::tools
