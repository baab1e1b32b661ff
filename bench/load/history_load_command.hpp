// `prophecy-bench table`: what a history table does on this machine.
#pragma once

#include "base/command_line/command_line.hpp"

namespace prophecy::tools {

// As add_pbft_load_command.
void add_history_load_command(Command program);

}  // namespace prophecy::tools
