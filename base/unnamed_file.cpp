#include "base/unnamed_file.hpp"

#include <cstdlib>
#include <string>

#include <fcntl.h>

namespace prophecy {

// Not O_TMPFILE, which not every file system knows: overlays of containers do not. What is killed
// between the two calls leaves an empty file.
Result<UniqueFd> make_unnamed_file(const std::filesystem::path& folder) {
  std::string name = (folder / "prophecy-body-XXXXXX").string();
  UniqueFd file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file || ::unlink(name.c_str()) != 0) return io_error(folder.string());
  return file;
}

}  // namespace prophecy
