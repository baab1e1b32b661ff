// prophecyctl ring: the ring of sketchers as one of its members sees it; its drain and its return.
#pragma once

#include "base/command_line/command_line.hpp"

namespace prophecy::tools {

void add_ring_command(Command program);

}  // namespace prophecy::tools
