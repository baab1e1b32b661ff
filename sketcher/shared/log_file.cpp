#include "sketcher/shared/log_file.hpp"

#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace prophecy::sketcher {
namespace {

Result<> check(int fd, const std::string& file) {
  const auto mistake = [&](const char* problem) {
    return Error{ErrorKind::invalid, file + ": " + problem};
  };
  struct stat status {};
  if (::fstat(fd, &status) != 0) return io_error(file);
  if (!S_ISREG(status.st_mode)) return mistake("expected a regular file");
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return mistake("belongs to another user; expected our own or root");
  }
  if ((status.st_mode & 022) != 0) {
    return mistake("its group or others may write it; expected mode 0640 or less");
  }
  return {};
}

}  // namespace

Result<UniqueFd> open_log_file(const std::filesystem::path& path, std::string_view name) {
  const std::string shown = std::string(name) + ' ' + path.string();
  // O_NONBLOCK: a named pipe does not hold the opening process up.
  UniqueFd file(::open(path.c_str(),
                       O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0640));
  if (!file) return io_error(shown);
  if (auto checked = check(file.get(), shown); !checked) return std::move(checked.error());
  return file;
}

}  // namespace prophecy::sketcher
