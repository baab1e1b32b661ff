// prophecyctl compare
#pragma once

#include "base/command_line/command_line.hpp"

namespace prophecy::tools {

void add_compare_command(Command program);

}  // namespace prophecy::tools
