// prophecyctl route, prophecyctl bypass: how a running sketcher answers, changed at once and until
// its next start.
#pragma once

#include "base/command_line/command_line.hpp"

namespace prophecy::tools {

void add_route_command(Command program);
void add_bypass_command(Command program);

}  // namespace prophecy::tools
