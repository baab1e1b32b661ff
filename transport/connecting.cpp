#include "transport/connecting.hpp"

#include <cerrno>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "transport/socket_address.hpp"

namespace prophecy::transport {

namespace {

constexpr int kIdleSeconds = 10;  // before the first probe
constexpr int kProbeSeconds = 5;
constexpr int kProbes = 3;
constexpr int kGoneMilliseconds = 25'000;

void set_option(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace

UniqueFd start_connecting(const IpAddress& address, std::uint16_t port) {
  const SocketAddress to(address, port);
  UniqueFd fd(::socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fd;
  set_option(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  const int result = ::connect(fd.get(), to.get(), to.size());
  return result == 0 || errno == EINPROGRESS ? std::move(fd) : UniqueFd();
}

void notice_lost_peer(int socket) {
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kGoneMilliseconds);
}

}  // namespace prophecy::transport
