#include "pbft/services/write_in_flight.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include <boost/asio/post.hpp>
#include <fcntl.h>
#include <unistd.h>

namespace prophecy::pbft {
namespace {

// A record of a write that goes on says so for this time ahead, and is not renewed before.
constexpr Duration kGoesOnFor = milliseconds(100);

std::uint64_t milliseconds_since_1970() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

}  // namespace

WriteInFlight::WriteInFlight(boost::asio::io_context& loop, const std::filesystem::path& file)
    : loop_(loop) {
  if (file.empty()) return;
  file_.reset(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file_) return;
  if (::pread(file_.get(), &before_, sizeof before_, 0) != sizeof before_) before_ = 0;
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
  if (!thread_.joinable()) {
    // Signals are for the event loop's thread.
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  const std::lock_guard lock(mutex_);
  // Whoever waits for a record that is overtaken has been given up: one write runs at a time.
  next_ = std::move(record);
  changed_.notify_all();
}

void WriteInFlight::run() {
  for (;;) {
    Record record;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || next_; });
      if (!next_) return;
      record = std::move(*std::exchange(next_, std::nullopt));
    }
    // The disk may be full: then the next process does not wait.
    (void)!::pwrite(file_.get(), &record.sent_at, sizeof record.sent_at, 0);
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
