#include "base/io/thread.hpp"

#include <csignal>
#include <utility>

#include "base/assert.hpp"

namespace prophecy {

Result<> start_thread(std::thread& thread, std::function<void()> run) {
  ASSERT(!thread.joinable());
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto start = [&]() -> Result<> {
    try {
      thread = std::thread(std::move(run));
      return {};
    } catch (const std::system_error& error) {
      return no_thread(error);
    }
  };
  auto started = start();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

Error no_thread(const std::system_error& error) {
  return {ErrorKind::unavailable,
          "no thread can be started: " + error.code().message() +
              "; raise the limit on processes (ulimit -u, TasksMax= of systemd)"};
}

}  // namespace prophecy
