#include "tools/new_file.hpp"

#include <cerrno>
#include <cstdio>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace prophecy::tools {
namespace {

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

}  // namespace

Result<NewFile> NewFile::create(const std::filesystem::path& path) {
  std::filesystem::path part = path;
  part += ".part-" + std::to_string(::getpid());
  UniqueFd fd(::open(folder_of(path).c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  const bool is_named = !fd;
  if (is_named) {
    fd.reset(::open(part.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  }
  if (!fd) return io_error(part.string());
  return NewFile(path, std::move(part), is_named, std::move(fd));
}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      part_(std::move(other.part_)),
      is_named_(std::exchange(other.is_named_, false)),
      fd_(std::move(other.fd_)) {}

NewFile::~NewFile() {
  if (is_named_) ::unlink(part_.c_str());
}

Result<> NewFile::keep(bool replaces) {
  if (!is_named_) {
    const std::string unnamed = "/proc/self/fd/" + std::to_string(fd_.get());
    if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, part_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      return io_error(part_.string());
    }
    is_named_ = true;
  }
  const unsigned flags = replaces ? 0 : RENAME_NOREPLACE;
  if (::renameat2(AT_FDCWD, part_.c_str(), AT_FDCWD, path_.c_str(), flags) != 0) {
    // Not every file system renames without replacing. A second name does no more.
    if (replaces || errno != EINVAL || ::link(part_.c_str(), path_.c_str()) != 0 ||
        ::unlink(part_.c_str()) != 0) {
      return io_error(path_.string());
    }
  }
  is_named_ = false;
  // The name is to be on the disk as well.
  const std::filesystem::path folder = folder_of(path_);
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return io_error(folder.string());
  return {};
}

}  // namespace prophecy::tools
