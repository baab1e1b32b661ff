#include "base/file.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unique_fd.hpp"
#include "base/wipe.hpp"

namespace prophecy {
namespace {

Result<> check_secrecy(int fd, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return io_error(path.string());
  if ((status.st_mode & 077) != 0) {
    return Error{ErrorKind::invalid,
                 path.string() + ": a secret that others may read; expected mode 0600"};
  }
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return Error{ErrorKind::invalid, path.string() + ": a secret that belongs to another user"};
  }
  return {};
}

Result<std::string> read_all(int fd, const std::filesystem::path& path, std::size_t size_max) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return io_error(path.string());
  if (!S_ISREG(status.st_mode)) {
    return Error{ErrorKind::invalid, path.string() + ": not a regular file"};
  }
  std::string content;
  // Growing would leave what it has behind, and it may be a secret.
  content.reserve(std::min(size_max, static_cast<std::size_t>(status.st_size)) + 1);
  char chunk[4096];
  const WipeAtEnd wipe({reinterpret_cast<std::uint8_t*>(chunk), sizeof chunk});
  for (;;) {
    const ssize_t size = ::read(fd, chunk, sizeof chunk);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return io_error(path.string());
    if (size == 0) return content;
    content.append(chunk, static_cast<std::size_t>(size));
    if (content.size() > size_max) {
      return Error{ErrorKind::limit,
                   path.string() + ": larger than " + std::to_string(size_max) + " bytes"};
    }
  }
}

Result<> write_all(int fd, const std::filesystem::path& path, std::string_view content) {
  while (!content.empty()) {
    const ssize_t size = ::write(fd, content.data(), content.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return io_error(path.string());
    content.remove_prefix(static_cast<std::size_t>(size));
  }
  if (::fsync(fd) != 0) return io_error(path.string());
  return {};
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, std::size_t size_max) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return io_error(path.string());
  return read_all(fd.get(), path, size_max);
}

Result<std::string> read_secret_file(const std::filesystem::path& path, std::size_t size_max) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return io_error(path.string());
  if (auto secrecy = check_secrecy(fd.get(), path); !secrecy) return secrecy.error();
  return read_all(fd.get(), path, size_max);
}

Result<> create_file(const std::filesystem::path& path, std::string_view content,
                     FileSecrecy secrecy) {
  const mode_t mode = secrecy == FileSecrecy::secret ? 0600 : 0644;
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd) return io_error(path.string());
  return write_all(fd.get(), path, content);
}

Result<> replace_file(const std::filesystem::path& path, std::string_view content,
                      FileSecrecy secrecy) {
  const std::filesystem::path fresh = path.string() + ".new";
  // What a crash has left.
  if (::unlink(fresh.c_str()) != 0 && errno != ENOENT) return io_error(fresh.string());
  if (auto created = create_file(fresh, content, secrecy); !created) return created;
  if (::rename(fresh.c_str(), path.c_str()) != 0) return io_error(path.string());
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return io_error(folder.string());
  return {};
}

}  // namespace prophecy
