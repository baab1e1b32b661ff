// `prophecyctl transitions`: how often answers change, from the access log of a running sketcher.
#pragma once

#include "base/command_line/command_line.hpp"

namespace prophecy::tools {

// Adds the command. Its run returns the exit status.
void add_transitions_command(Command program);

}  // namespace prophecy::tools
