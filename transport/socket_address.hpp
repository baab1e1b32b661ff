// Addresses as the system's calls take them.
#pragma once

#include <cstdint>

#include <sys/socket.h>

#include "base/ip_address.hpp"

namespace prophecy::transport {

class SocketAddress {
 public:
  SocketAddress(const IpAddress& address, std::uint16_t port);

  [[nodiscard]] sa_family_t family() const { return storage_.ss_family; }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  [[nodiscard]] socklen_t size() const { return size_; }

 private:
  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

}  // namespace prophecy::transport
