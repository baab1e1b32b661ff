#include "pbft/services/state/folder_lock.hpp"

#include <cerrno>
#include <utility>

#include <sys/file.h>
#include <sys/stat.h>

#include "pbft/services/state/folder_files.hpp"

namespace prophecy::pbft {

Result<> FolderLock::take(int folder, const std::string& path) {
  struct stat status {};
  if (::fstat(folder, &status) != 0) return io_error(path);
  struct stat held {};
  if (folder_ && ::fstat(folder_.get(), &held) == 0 && held.st_dev == status.st_dev &&
      held.st_ino == status.st_ino) {
    return {};
  }
  auto opened = open_folder_at(folder, ".", path);
  if (!opened) return opened.error();
  if (::flock(opened->get(), LOCK_EX | LOCK_NB) == 0) {
    folder_ = std::move(*opened);
  } else if (errno == EWOULDBLOCK) {
    return Error{ErrorKind::unavailable,
                 path + ": locked; another agent has it as its state_folder (each replica needs " +
                     "an origin and a folder of its own)"};
  }
  return {};
}

}  // namespace prophecy::pbft
