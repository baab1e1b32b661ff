#include "measurement/stop_signals.hpp"

#include <csignal>

#include <poll.h>
#include <sys/signalfd.h>

#include "base/assert.hpp"

namespace prophecy::measurement {

StopSignals::StopSignals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  file_.reset(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  ASSERT(file_);
}

bool StopSignals::wait(Duration time) {
  if (has_come_) return true;
  pollfd asked{.fd = file_.get(), .events = POLLIN, .revents = 0};
  const auto limit = std::chrono::duration_cast<milliseconds>(time).count();
  has_come_ = ::poll(&asked, 1, static_cast<int>(limit)) == 1;
  return has_come_;
}

}  // namespace prophecy::measurement
