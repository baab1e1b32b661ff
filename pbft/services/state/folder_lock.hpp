// `FolderLock` keeps the folder that is a replica's state from a second agent on this machine: each
// would restore what the other's origin has changed.
//
// A lock of the folder itself (flock), which ends with the process. Where the file system knows no
// such locks nothing is locked, and no second agent is noticed.
#pragma once

#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace prophecy::pbft {

class FolderLock {
 public:
  // Locks the open folder, in place of the one before: another folder may have taken its name.
  // ErrorKind::unavailable: somebody else holds it. `path` is for the error.
  [[nodiscard]] Result<> take(int folder, const std::string& path);

 private:
  UniqueFd folder_;
};

}  // namespace prophecy::pbft
