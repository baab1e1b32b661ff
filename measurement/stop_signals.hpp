// `StopSignals` waits, and ends early on SIGTERM and SIGINT, for commands that run until they are
// stopped.
//
// Make it in the main thread, before others are started: it blocks both signals for good.
#pragma once

#include "base/clock.hpp"
#include "base/unique_fd.hpp"

namespace prophecy::measurement {

class StopSignals {
 public:
  StopSignals();

  // True: the program is to stop.
  [[nodiscard]] bool wait(Duration time);
  [[nodiscard]] bool has_come() { return wait({}); }
  // Readable when the program is to stop.
  [[nodiscard]] int descriptor() const { return file_.get(); }

 private:
  UniqueFd file_;
  bool has_come_ = false;
};

}  // namespace prophecy::measurement
