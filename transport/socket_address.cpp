#include "transport/socket_address.hpp"

#include <cstring>

#include <netinet/in.h>

namespace prophecy::transport {

SocketAddress::SocketAddress(const IpAddress& address, std::uint16_t port) {
  const auto& bytes = address.bytes();
  if (address.is_v4()) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(storage_);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, bytes.data() + bytes.size() - sizeof v4.sin_addr, sizeof v4.sin_addr);
    size_ = sizeof v4;
  } else {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(storage_);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, bytes.data(), bytes.size());
    size_ = sizeof v6;
  }
}

}  // namespace prophecy::transport
