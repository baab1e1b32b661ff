#include "base/io/signal_source.hpp"

#include <csignal>

#include <sys/signalfd.h>
#include <unistd.h>

#include "base/assert.hpp"

namespace prophecy {

SignalSource::SignalSource(boost::asio::io_context& loop, std::initializer_list<int> signals,
                           std::function<void(int)> on_signal)
    : descriptor_(loop), on_signal_(std::move(on_signal)) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals)
    sigaddset(&set, signal);
  ASSERT(::sigprocmask(SIG_BLOCK, &set, nullptr) == 0);
  const int fd = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  ASSERT(fd >= 0);
  descriptor_.assign(fd);
  wait();
}

void SignalSource::wait() {
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this](const boost::system::error_code& error) {
                           if (error) return;
                           signalfd_siginfo info{};
                           while (::read(descriptor_.native_handle(), &info, sizeof info) ==
                                  static_cast<ssize_t>(sizeof info)) {
                             on_signal_(static_cast<int>(info.ssi_signo));
                           }
                           wait();
                         });
}

}  // namespace prophecy
