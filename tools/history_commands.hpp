// prophecyctl history: what a sketcher remembers.
#pragma once

#include "base/command_line/command_line.hpp"

namespace prophecy::tools {

void add_history_commands(Command program);

}  // namespace prophecy::tools
