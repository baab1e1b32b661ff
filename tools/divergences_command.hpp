// `prophecyctl divergences`: the evidence that a running sketcher keeps.
#pragma once

#include "base/command_line/command_line.hpp"

namespace prophecy::tools {

// Adds the command. Its run returns the exit status.
void add_divergences_command(Command program);

}  // namespace prophecy::tools
