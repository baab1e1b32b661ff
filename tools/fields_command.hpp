// prophecyctl fields
#pragma once

#include "base/command_line/command_line.hpp"

namespace prophecy::tools {

void add_fields_command(Command program);

}  // namespace prophecy::tools
