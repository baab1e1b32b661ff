// prophecyctl adopt: has a group whose replicas have no state that can be restored adopt the
// present state of its origins.
#pragma once

#include "base/command_line/command_line.hpp"

namespace prophecy::tools {

void add_adopt_command(Command program);

}  // namespace prophecy::tools
