// Core dumps of processes that hold keys. A core file has all of a process's memory, and its memory
// is open to each process of the same user that may trace it.
#pragma once

#include "base/error.hpp"

namespace prophecy {

// No core file, and no tracing but by root, of this process and of children forked later. /proc/PID
// of such a process belongs to root. To be called before the first key is read, and again after a
// change of user.
[[nodiscard]] Result<> forbid_core_dumps();

// As forbid_core_dumps() found it on most systems, and core files as large as the hard limit says.
void allow_core_dumps();

}  // namespace prophecy
