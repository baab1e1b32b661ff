#include "sketcher/shared/divergence_file.hpp"

#include <cerrno>

#include <sys/stat.h>
#include <unistd.h>

#include "sketcher/shared/log_file.hpp"

namespace prophecy::sketcher {
Result<> DivergenceFile::open(const std::filesystem::path& path, std::uint64_t bytes_max) {
  path_ = path;
  bytes_max_ = bytes_max;
  return reopen();
}

Result<> DivergenceFile::reopen() {
  auto file = open_log_file(path_, "divergence log");
  if (!file) return std::move(file.error());
  file_ = std::move(*file);
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
