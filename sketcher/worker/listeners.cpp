#include "sketcher/worker/listeners.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/ip_address.hpp"
#include "transport/socket_address.hpp"

namespace prophecy::sketcher {
namespace {

constexpr int kBacklog = 4096;  // the kernel cuts it to net.core.somaxconn

enum class Sharing { exclusive, by_workers };

Result<UniqueFd> bind_socket(const Endpoint& endpoint, Sharing sharing) {
  const auto parsed = IpAddress::parse(endpoint.address);
  if (!parsed) return Error{ErrorKind::invalid, to_string(endpoint) + ": no address"};
  const transport::SocketAddress address(*parsed, endpoint.port);
  UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return io_error("socket");
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (sharing == Sharing::by_workers) {
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  }
  if (address.family() == AF_INET6) {
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  }
  if (::bind(fd.get(), address.get(), address.size()) != 0) {
    return io_error("cannot listen on " + to_string(endpoint));
  }
  return fd;
}

std::uint16_t port_of(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return 0;
  return ntohs(storage.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(storage).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(storage).sin_port);
}

}  // namespace

Result<Listener> open_listener(const Endpoint& address, std::uint32_t workers) {
  // SO_REUSEPORT would let a second sketcher of the same user share the port unnoticed, so the
  // port is first bound without it.
  Listener listener{.address = address, .sockets = {}};
  {
    auto probe = bind_socket(address, Sharing::exclusive);
    if (!probe) return probe.error();
    if (::listen(probe->get(), 1) != 0) return io_error("cannot listen on " + to_string(address));
  }
  for (std::uint32_t i = 0; i < workers; ++i) {
    auto fd = bind_socket(listener.address, Sharing::by_workers);
    if (!fd) return fd.error();
    if (listener.address.port == 0) listener.address.port = port_of(fd->get());
    if (::listen(fd->get(), kBacklog) != 0) {
      return io_error("cannot listen on " + to_string(address));
    }
    listener.sockets.push_back(std::move(*fd));
  }
  return listener;
}

}  // namespace prophecy::sketcher
