#include "sketcher/address_limit.hpp"

#include "base/assert.hpp"

namespace prophecy::sketcher {

bool AddressLimit::take(const std::string& address) {
  std::size_t& held = held_[address];
  if (held >= connections_max_) return false;
  ++held;
  return true;
}

void AddressLimit::give_back(const std::string& address) {
  const auto found = held_.find(address);
  ASSERT(found != held_.end());
  if (--found->second == 0) held_.erase(found);
}

}  // namespace prophecy::sketcher
