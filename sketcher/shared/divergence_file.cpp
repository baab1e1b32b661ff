#include "sketcher/shared/divergence_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace prophecy::sketcher {
namespace {

Result<> check(int fd, const std::filesystem::path& path) {
  const auto mistake = [&](const char* problem) {
    return Error{ErrorKind::invalid, "divergence log " + path.string() + ": " + problem};
  };
  struct stat status {};
  if (::fstat(fd, &status) != 0) return io_error("divergence log " + path.string());
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

Result<> DivergenceFile::open(const std::filesystem::path& path, std::uint64_t bytes_max) {
  path_ = path;
  bytes_max_ = bytes_max;
  return reopen();
}

Result<> DivergenceFile::reopen() {
  // O_NONBLOCK: a named pipe does not hold the master up.
  UniqueFd file(::open(path_.c_str(),
                       O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0640));
  if (!file) return io_error("divergence log " + path_.string());
  if (auto checked = check(file.get(), path_); !checked) return checked;
  file_ = std::move(file);
  is_skipping_ = false;
  return {};
}

void DivergenceFile::append(std::string_view line) {
  if (!file_) return;
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) {
    return skip("divergence-log", io_error(path_.string()).message);
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (line.size() > bytes_max_ || size > bytes_max_ - line.size()) {
    return skip("divergence-log-full", path_.string() +
                                           ": has divergence_log_bytes_max; rename "
                                           "it and send SIGHUP");
  }
  if (!write(line)) {
    const std::string problem = io_error(path_.string()).message;
    // A part of a line would damage the next one as well.
    if (::ftruncate(file_.get(), status.st_size) != 0) {
      log_.error("divergence-log", {{"problem", io_error(path_.string()).message}});
    }
    return skip("divergence-log", problem);
  }
  is_skipping_ = false;
}

// Sets errno on failure.
bool DivergenceFile::write(std::string_view line) {
  while (!line.empty()) {
    const ssize_t size = ::write(file_.get(), line.data(), line.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    line.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

void DivergenceFile::skip(std::string_view event, const std::string& problem) {
  ++skipped_;
  if (is_skipping_) return;
  is_skipping_ = true;
  log_.error(event, {{"problem", problem}});
}

}  // namespace prophecy::sketcher
