#include "base/io/core_dumps.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>

namespace prophecy {
namespace {

// The hard limit stays: a program that we start may allow itself core files.
bool set_core_limit(bool is_allowed) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CORE, &limit) != 0) return false;
  limit.rlim_cur = is_allowed ? limit.rlim_max : 0;
  return ::setrlimit(RLIMIT_CORE, &limit) == 0;
}

}  // namespace

// Both: a pipe in kernel.core_pattern takes dumps whatever the limit is.
Result<> forbid_core_dumps() {
  if (::prctl(PR_SET_DUMPABLE, 0) != 0 || !set_core_limit(false)) {
    return io_error("cannot forbid core dumps");
  }
  return {};
}

void allow_core_dumps() {
  ::prctl(PR_SET_DUMPABLE, 1);
  static_cast<void>(set_core_limit(true));
}

}  // namespace prophecy
