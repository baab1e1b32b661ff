// How many connections each client holds, with a bound for every one of them, so that one client
// cannot take the room of all others. A client is an IPv4 address or a network of IPv6.
#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>

#include "base/ip_address.hpp"

namespace prophecy::sketcher {

class AddressLimit {
 public:
  AddressLimit(std::size_t connections_max, unsigned ipv6_prefix_bits)
      : connections_max_(connections_max), ipv6_prefix_bits_(ipv6_prefix_bits) {}

  // False when this address's client already has all that it may have.
  [[nodiscard]] bool take(const IpAddress& address);
  // Requires a take() that was granted.
  void give_back(const IpAddress& address);

  [[nodiscard]] std::size_t clients() const { return held_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const IpAddress& address) const {
      const auto& bytes = address.bytes();
      return std::hash<std::string_view>()(
          {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
  };

  std::size_t connections_max_;
  unsigned ipv6_prefix_bits_;
  std::unordered_map<IpAddress, std::size_t, Hash> held_;  // never 0
};

}  // namespace prophecy::sketcher
