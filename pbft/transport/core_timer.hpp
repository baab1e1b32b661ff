// The one outstanding timer of a deterministic core. Cores name the time of their next tick after
// every event; asking the event loop for a new timer each time would cost more than the event. So
// an armed timer is left alone while the next tick lies behind it: it then fires early, which a
// core permits, and is armed again.
//
// Single-threaded. Its io_context must not run any more once the timer is destroyed.
#pragma once

#include <functional>

#include "pbft/transport/socket.hpp"

namespace prophecy::pbft {

class CoreTimer {
 public:
  // `on_due` is called at or after the time; it calls arm() again.
  CoreTimer(boost::asio::io_context& io, std::function<void()> on_due)
      : timer_(io), on_due_(std::move(on_due)) {}

  // TimePoint::max(): nothing to wait for.
  void arm(TimePoint next) {
    if (stopped_ || next >= armed_for_) return;
    armed_for_ = next;
    timer_.expires_at(next);
    timer_.async_wait([this, next](const boost::system::error_code& error) {
      if (error || stopped_ || next != armed_for_) return;
      armed_for_ = TimePoint::max();
      on_due_();
    });
  }

  void stop() {
    stopped_ = true;
    timer_.cancel();
  }

 private:
  Timer timer_;
  std::function<void()> on_due_;
  TimePoint armed_for_ = TimePoint::max();
  bool stopped_ = false;
};

}  // namespace prophecy::pbft
