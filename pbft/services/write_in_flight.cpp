#include "pbft/services/write_in_flight.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include <boost/asio/post.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "base/io/thread.hpp"

namespace prophecy::pbft {
namespace {

// A record of a write that goes on says so for this time ahead, and is not renewed before.
constexpr Duration kGoesOnFor = milliseconds(100);

// False with errno.
bool write_to(int file, std::uint64_t sent_at) {
  errno = ENOSPC;  // of a write that is cut short
  return ::pwrite(file, &sent_at, sizeof sent_at, 0) == sizeof sent_at;
}

std::uint64_t milliseconds_since_1970() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

}  // namespace

Result<> WriteInFlight::open(const std::filesystem::path& file) {
  ASSERT(!file_);
  const auto refuse = [&](Error error) {
    error.message += "; the agent records there that its origin may be carrying out a write";
    return error;
  };
  UniqueFd opened(
      ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  struct stat status {};
  if (!opened || ::fstat(opened.get(), &status) != 0) return refuse(io_error(file.string()));
  if (!S_ISREG(status.st_mode)) {
    return refuse({ErrorKind::invalid, file.string() + ": is no regular file"});
  }
  const ssize_t size = ::pread(opened.get(), &before_, sizeof before_, 0);
  if (size < 0) return refuse(io_error(file.string()));
  if (size != sizeof before_) {
    before_ = 0;
    if (!write_to(opened.get(), before_)) return refuse(io_error(file.string()));
  }
  file_ = std::move(opened);
  auto started = start_thread(thread_, [this] { run(); });
  if (!started) file_.reset();
  return started;
}

WriteInFlight::~WriteInFlight() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void WriteInFlight::begin(std::function<void()> recorded) {
  if (!file_) return recorded();
  gone_on_at_ = TimePoint{};
  Record record;
  record.sent_at = std::max<std::uint64_t>(milliseconds_since_1970(), 1);
  record.recorded = std::move(recorded);
  record.guard = std::make_unique<WorkGuard>(loop_.get_executor());
  hand_over(std::move(record));
}

void WriteInFlight::go_on() {
  const TimePoint now = std::chrono::steady_clock::now();
  if (!file_ || now - gone_on_at_ < kGoesOnFor) return;
  gone_on_at_ = now;
  const auto ahead = std::chrono::duration_cast<milliseconds>(kGoesOnFor).count();
  Record record;
  record.sent_at = milliseconds_since_1970() + static_cast<std::uint64_t>(ahead);
  hand_over(std::move(record));
}

void WriteInFlight::end() {
  if (file_) hand_over({});
}

void WriteInFlight::hand_over(Record record) {
  const std::lock_guard lock(mutex_);
  // Whoever waits for a record that is overtaken has been given up: one write runs at a time.
  next_ = std::move(record);
  changed_.notify_all();
}

void WriteInFlight::run() {
  bool has_failed = false;
  for (;;) {
    Record record;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || next_; });
      if (!next_) return;
      record = std::move(*std::exchange(next_, std::nullopt));
    }
    // The write is sent all the same. But the next process may not wait for it.
    const int error = write_to(file_.get(), record.sent_at) ? 0 : errno;
    const bool failed_before = std::exchange(has_failed, error != 0);
    if (has_failed && !failed_before) {
      boost::asio::post(loop_, [this, error] {
        if (on_failure_) on_failure_(error);
      });
    }
    if (record.recorded) boost::asio::post(loop_, std::move(record.recorded));
  }
}

// The clock may have been set meanwhile.
Duration WriteInFlight::left_behind(Duration longest) const {
  if (before_ == 0) return Duration::zero();
  const std::uint64_t now = milliseconds_since_1970();
  const std::uint64_t since = now > before_ ? now - before_ : 0;
  const auto whole = static_cast<std::uint64_t>(
      std::max<std::int64_t>(std::chrono::duration_cast<milliseconds>(longest).count(), 0));
  return milliseconds(since >= whole ? 0 : whole - since);
}

}  // namespace prophecy::pbft
