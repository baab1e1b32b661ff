// The hops that X-Forwarded-For and Forwarded list, taken apart. Internal to sketch/.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/ip_address.hpp"

namespace prophecy::sketch {

// The last hops of a chain, as they stood. More than these are nobody's own; what is further to the
// left is forgotten, so that a long chain costs no more than a look at it.
class LastHops {
 public:
  void add(std::string_view hop) { hops_[count_++ % hops_.size()] = hop; }
  [[nodiscard]] std::size_t size() const { return std::min(count_, hops_.size()); }
  // 0 is the rightmost.
  [[nodiscard]] std::string_view from_right(std::size_t index) const {
    return hops_[(count_ - 1 - index) % hops_.size()];
  }

 private:
  std::array<std::string_view, 16> hops_;
  std::size_t count_ = 0;
};

// Adds the hops of one X-Forwarded-For or X-Forwarded-Proto field: anything between commas.
void add_x_forwarded_hops(std::string_view value, LastHops& hops);

// Adds the `for`, or another parameter, of each element of one Forwarded field; an element without
// one adds "". False for what is not a list of elements by the letter of RFC 7239, section 4.
[[nodiscard]] bool add_forwarded_hops(std::string_view value, LastHops& hops,
                                      std::string_view parameter = "for");

// The address of a hop: ADDRESS, IPV4:PORT, [IPV6] or [IPV6]:PORT. Nothing for "unknown", an
// obfuscated name, or nonsense.
[[nodiscard]] std::optional<IpAddress> address_of_hop(std::string_view hop);

}  // namespace prophecy::sketch
