// prophecyctl origin list, prophecyctl origin set: the health of a sketcher's origins, and taking
// them out and in.
#pragma once

#include "base/command_line/command_line.hpp"

namespace prophecy::tools {

void add_origin_commands(Command program);

}  // namespace prophecy::tools
