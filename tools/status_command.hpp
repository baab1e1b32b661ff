// `prophecyctl status`: what a running sketcher or replica says of itself.
#pragma once

#include "base/command_line/command_line.hpp"

namespace prophecy::tools {

// Adds the command. Its run returns the exit status.
void add_status_command(Command program);

}  // namespace prophecy::tools
