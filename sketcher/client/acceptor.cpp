#include "sketcher/client/acceptor.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <span>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace prophecy::sketcher {

namespace asio = boost::asio;

namespace {

// Out of descriptors or memory: trying again at once would only burn the processor.
constexpr auto kRetryDelay = std::chrono::milliseconds(100);
// Beyond so many, those that are there have their turn.
constexpr int kAcceptedMax = 64;

IpAddress ip_address(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    return IpAddress(std::span<const std::uint8_t, 16>(v6.s6_addr));
  }
  std::array<std::uint8_t, 4> v4{};
  std::memcpy(v4.data(), &reinterpret_cast<const sockaddr_in&>(address).sin_addr, v4.size());
  return IpAddress(v4);
}

bool is_exhaustion(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

Acceptor::Acceptor(asio::io_context& loop, UniqueFd listener, OnAccepted on_accepted)
    : listener_(loop, listener.release()), retry_(loop), on_accepted_(std::move(on_accepted)) {}

void Acceptor::resume() {
  accepting_ = true;
  wait();
}

void Acceptor::pause() {
  accepting_ = false;
  boost::system::error_code ignored;
  listener_.cancel(ignored);
  retry_.cancel();
}

void Acceptor::close() {
  accepting_ = false;
  boost::system::error_code ignored;
  listener_.close(ignored);
  retry_.cancel();
}

void Acceptor::wait() {
  if (pending_) return;
  pending_ = true;
  listener_.async_wait(asio::posix::stream_descriptor::wait_read,
                       [this](const boost::system::error_code& error) {
                         pending_ = false;
                         if (!accepting_) return;
                         error ? wait() : accept();
                       });
}

void Acceptor::accept() {
  for (int accepted = 0; accepting_ && accepted < kAcceptedMax; ++accepted) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    UniqueFd socket(::accept4(listener_.native_handle(), reinterpret_cast<sockaddr*>(&address),
                              &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
      const int on = 1;
      ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      on_accepted_(std::move(socket), ip_address(address));
      continue;
    }
    if (is_exhaustion(errno)) return wait_for_resources();
    if (errno == EAGAIN) break;
    // Anything else is that client's failure (accept(2)).
  }
  if (accepting_) wait();
}

void Acceptor::wait_for_resources() {
  retry_.expires_after(kRetryDelay);
  retry_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled && accepting_) accept();
  });
}

}  // namespace prophecy::sketcher
