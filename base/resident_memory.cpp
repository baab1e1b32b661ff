#include "base/resident_memory.hpp"

#include <fstream>

#include <unistd.h>

namespace prophecy {

Result<std::uint64_t> resident_memory_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t total_pages = 0;
  std::uint64_t resident_pages = 0;
  if (!(file >> total_pages >> resident_pages)) {
    return Error{ErrorKind::io, "cannot read /proc/self/statm"};
  }
  return resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace prophecy
