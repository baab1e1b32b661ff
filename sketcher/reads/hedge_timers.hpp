// Wakes the fast reads for which a second origin is to be asked, to the millisecond: the ticker of
// the other time-outs is too coarse for that. (So are requests woken that wait for the owner of a
// partition.) One timer for all of them, armed only while one waits.
//
// The delays of a group change slowly and the reads come one after another, so they expire in their
// order, or late by what the delay has shrunk; with several groups, by the difference of their
// delays.
//
// Single-threaded. Its io_context must not run any more once this is destroyed.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/timeout_queue.hpp"

namespace prophecy::sketcher {

class HedgeTimers {
 public:
  explicit HedgeTimers(boost::asio::io_context& loop) : timer_(loop) {}

  void arm(TimeoutEntry& entry, TimePoint now, Duration delay) {
    queue_.arm_for(entry, now, delay);
    if (!waiting_) wait();
  }

  // The time of all that wait now is over at once.
  void expire_all() { queue_.expire_all(); }

 private:
  void wait() {
    const auto next = queue_.next();
    waiting_ = next.has_value();
    if (!next) return;
    timer_.expires_at(*next);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      queue_.expire(std::chrono::steady_clock::now());
      wait();
    });
  }

  TimeoutQueue queue_{Duration{}};
  boost::asio::steady_timer timer_;
  bool waiting_ = false;
};

}  // namespace prophecy::sketcher
