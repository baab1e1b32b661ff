#include "tools/new_file.hpp"

#include <cstdio>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace prophecy::tools {

Result<NewFile> NewFile::create(const std::filesystem::path& path) {
  std::filesystem::path part = path;
  part += ".part-" + std::to_string(::getpid());
  UniqueFd fd(::open(part.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return io_error(part.string());
  return NewFile(path, std::move(part), std::move(fd));
}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      part_(std::exchange(other.part_, {})),
      fd_(std::move(other.fd_)) {}

NewFile::~NewFile() {
  if (!part_.empty()) ::unlink(part_.c_str());
}

Result<> NewFile::keep(bool replaces) {
  const unsigned flags = replaces ? 0 : RENAME_NOREPLACE;
  if (::renameat2(AT_FDCWD, part_.c_str(), AT_FDCWD, path_.c_str(), flags) != 0) {
    return io_error(path_.string());
  }
  part_.clear();
  // The name is to be on the disk as well.
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return io_error(folder.string());
  return {};
}

}  // namespace prophecy::tools
