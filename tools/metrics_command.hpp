// `prophecyctl metrics`: the metrics of a running sketcher, or those of all members of its ring.
#pragma once

#include "base/command_line/command_line.hpp"

namespace prophecy::tools {

// Adds the command. Its run returns the exit status.
void add_metrics_command(Command program);

}  // namespace prophecy::tools
