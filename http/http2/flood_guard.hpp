// Bounds on what a client of HTTP/2 makes us do that is no request: frames that carry nothing
// (SETTINGS, PING, PRIORITY, WINDOW_UPDATE, CONTINUATION, unknown ones, DATA that is empty or
// padding alone), and requests that it takes back ("rapid reset") or makes us break off. Each kind
// has a budget, which time refills, and work that is done for the client as well: who downloads a
// lot may send a lot of WINDOW_UPDATEs.
//
// Deterministic: time is an argument.
#pragma once

#include <cstdint>

#include "base/clock.hpp"

namespace prophecy::http {

class FloodGuard {
 public:
  // False when that was one too many.
  [[nodiscard]] bool on_idle_frame(TimePoint now) { return frames_.take(now); }
  [[nodiscard]] bool on_reset(TimePoint now) { return resets_.take(now); }

  void on_request_answered() {
    resets_.give(1);
    frames_.give(4);  // some clients send priorities and windows for each
  }
  void on_body_sent(std::size_t bytes);

 private:
  class Budget {
   public:
    Budget(std::uint32_t size, Duration interval) : size_(size), left_(size), interval_(interval) {}
    bool take(TimePoint now);
    void give(std::uint32_t amount) { left_ = amount < size_ - left_ ? left_ + amount : size_; }

   private:
    std::uint32_t size_;
    std::uint32_t left_;
    Duration interval_;  // in which one comes back
    TimePoint refilled_{};
  };

  Budget frames_{1000, milliseconds(5)};
  Budget resets_{200, milliseconds(50)};
  std::size_t sent_bytes_ = 0;  // that have not refilled anything yet
};

}  // namespace prophecy::http
