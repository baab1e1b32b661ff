// Lets TimeoutQueues expire, at a fixed interval: the coarseness of every time-out that waits in
// them.
//
// Single-threaded. Its io_context must not run any more once the ticker is destroyed.
#pragma once

#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/timeout_queue.hpp"

namespace prophecy {

class TimeoutTicker {
 public:
  // The queues must outlive the ticker.
  TimeoutTicker(boost::asio::io_context& loop, Duration interval, std::vector<TimeoutQueue*> queues)
      : timer_(loop), interval_(interval), queues_(std::move(queues)) {}

  void add(const std::vector<TimeoutQueue*>& queues) {
    queues_.insert(queues_.end(), queues.begin(), queues.end());
  }
  void start() {
    timer_.expires_after(interval_);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      const TimePoint now = std::chrono::steady_clock::now();
      for (TimeoutQueue* queue : queues_)
        queue->expire(now);
      start();
    });
  }
  void stop() { timer_.cancel(); }

 private:
  boost::asio::steady_timer timer_;
  Duration interval_;
  std::vector<TimeoutQueue*> queues_;
};

}  // namespace prophecy
