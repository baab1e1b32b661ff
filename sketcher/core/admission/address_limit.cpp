#include "sketcher/core/admission/address_limit.hpp"

#include "base/assert.hpp"

namespace prophecy::sketcher {

bool AddressLimit::take(const IpAddress& address) {
  const IpAddress client = address.network(ipv6_prefix_bits_);
  std::size_t& held = held_[client];
  if (held >= connections_max_) return false;
  ++held;
  return true;
}

void AddressLimit::give_back(const IpAddress& address) {
  const auto found = held_.find(address.network(ipv6_prefix_bits_));
  ASSERT(found != held_.end());
  if (--found->second == 0) held_.erase(found);
}

}  // namespace prophecy::sketcher
