#include "transport/connecting.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace prophecy::transport {

namespace {

constexpr int kProbeSeconds = 10;
constexpr int kGoneMilliseconds = 30'000;

void set_option(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace

UniqueFd start_connecting(const IpAddress& address, std::uint16_t port) {
  UniqueFd fd(::socket(address.is_v4() ? AF_INET : AF_INET6,
                       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fd;
  set_option(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  sockaddr_storage storage{};
  socklen_t size = 0;
  const auto& bytes = address.bytes();
  if (address.is_v4()) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, bytes.data() + bytes.size() - sizeof v4.sin_addr, sizeof v4.sin_addr);
    size = sizeof v4;
  } else {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, bytes.data(), bytes.size());
    size = sizeof v6;
  }
  const int result = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&storage), size);
  return result == 0 || errno == EINPROGRESS ? std::move(fd) : UniqueFd();
}

void notice_lost_peer(int socket) {
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kProbeSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kGoneMilliseconds);
}

}  // namespace prophecy::transport
