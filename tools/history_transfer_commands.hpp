// prophecyctl history export, prophecyctl history import: what one sketcher remembers, for another.
// The files are opened here, with the rights of who calls; the sketcher reads or writes them.
#pragma once

#include "base/command_line/command_line.hpp"

namespace prophecy::tools {

// To `history`.
void add_history_transfer_commands(Command history);

}  // namespace prophecy::tools
