#include "measurement/live/log_follower.hpp"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measurement/input/line_reader.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::size_t kFollowedBytes = 256 << 10;

}  // namespace

Result<> LogFollower::open() {
  UniqueFd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file && errno == ENOENT) return {};
  if (!file) return io_error(path_.string());
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return io_error(path_.string());
  if (!S_ISREG(status.st_mode)) {
    return Error{ErrorKind::invalid, path_.string() + ": expected a regular file"};
  }
  file_ = std::move(file);
  position_ = 0;
  part_.clear();
  renamed_.reset();
  sink_.on_begin();
  return {};
}

Result<> LogFollower::poll(TimePoint now) {
  if (!file_) {
    if (auto opened = open(); !opened || !file_) return opened;
  }
  struct stat held {};
  struct stat named {};
  if (::fstat(file_.get(), &held) != 0) return io_error(path_.string());
  if (static_cast<std::uint64_t>(held.st_size) < position_) {
    position_ = 0;
    part_.clear();
    sink_.on_begin();
  }
  if (auto read = read_on(); !read) return read;
  // Without a file of that name its successor is still to come.
  const bool is_named = ::stat(path_.c_str(), &named) == 0;
  if (!is_named || (named.st_dev == held.st_dev && named.st_ino == held.st_ino)) return {};
  if (!renamed_) renamed_ = now;
  if (now - *renamed_ < kOldFile) return {};
  if (auto opened = open(); !opened) return opened;
  return read_on();
}

Result<> LogFollower::read_on() {
  std::string buffer(kFollowedBytes, '\0');
  for (;;) {
    const ssize_t got =
        ::pread(file_.get(), buffer.data(), buffer.size(), static_cast<off_t>(position_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error(path_.string());
    if (got == 0) return {};
    const std::uint64_t begin = position_ - part_.size();
    position_ += static_cast<std::uint64_t>(got);
    part_.append(buffer, 0, static_cast<std::size_t>(got));
    std::size_t end = part_.rfind('\n') + 1;
    // A line beyond all bounds is handed on in pieces, whose reader reports it.
    if (end == 0 && part_.size() > kLineBytesMax) end = part_.size();
    if (end == 0) continue;
    sink_.on_lines(std::string_view(part_).substr(0, end), begin);
    part_.erase(0, end);
  }
}

}  // namespace prophecy::measurement
