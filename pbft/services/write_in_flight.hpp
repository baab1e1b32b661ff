// `WriteInFlight` records, beyond the end of this process, that the origin may be carrying out a
// write: an agent that is killed leaves the write running there, and the next process must not
// restore a state, or execute anything again, beside it.
//
// The time at which its last byte was sent lies in a file of eight bytes, which has its place on
// the disk from the beginning. The system keeps what was written to the file when the process is
// killed. After a loss of power the file may hold an older time, but what ran on this machine has
// ended as well.
//
// A thread of its own writes the file, since a disk that stalls would stop the event loop. It
// writes the newest value alone.
//
// Single-threaded for its owner. The io_context must not run any more once it is destroyed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace prophecy::pbft {

class WriteInFlight {
 public:
  explicit WriteInFlight(boost::asio::io_context& loop) : loop_(loop) {}
  ~WriteInFlight();
  WriteInFlight(const WriteInFlight&) = delete;
  WriteInFlight& operator=(const WriteInFlight&) = delete;

  // Once. Before it nothing is recorded. An error, also where there is no thread to be had: a write
  // that is left behind would not be waited for.
  [[nodiscard]] Result<> open(const std::filesystem::path& file);
  // Called when a time could not be written (errno), once until one could.
  void on_failure(std::function<void(int error)> callback) { on_failure_ = std::move(callback); }

  // A write is about to be sent: `recorded` is called, on the loop, once that is recorded; at once
  // if nothing is.
  void begin(std::function<void()> recorded);
  // More of it is being sent. May be called for each piece.
  void go_on();
  void end();
  // What an earlier process has left may go on for so long from now on, if it takes no more than
  // `longest` from when its last byte was sent.
  [[nodiscard]] Duration left_behind(Duration longest) const;

 private:
  using WorkGuard = boost::asio::executor_work_guard<boost::asio::io_context::executor_type>;
  struct Record {
    std::uint64_t sent_at = 0;  // milliseconds since 1970; 0: no write is in flight
    std::function<void()> recorded;
    std::unique_ptr<WorkGuard> guard;  // of the loop, while there is somebody to call
  };

  void hand_over(Record record);
  void run();

  boost::asio::io_context& loop_;
  UniqueFd file_;
  std::uint64_t before_ = 0;  // likewise; of an earlier process
  std::function<void(int)> on_failure_;
  TimePoint gone_on_at_{};
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::optional<Record> next_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace prophecy::pbft
