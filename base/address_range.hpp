// Ranges of IP addresses, as configuration writes them: "10.0.0.0/8", "2001:db8::/32", "::1". A
// range holds addresses of its own family alone: "::/0" is every IPv6 address and no IPv4 one,
// since whoever writes it means just these. A mapped range ("::ffff:10.0.0.0/104") is the IPv4
// range.
//
// Values; may be shared by threads once made.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/ip_address.hpp"

namespace prophecy {

class AddressRange {
 public:
  // Refuses an address with bits beyond its prefix: it is a slip more often than not, and what is
  // meant is anybody's guess.
  [[nodiscard]] static Result<AddressRange> parse(std::string_view text);

  [[nodiscard]] bool contains(const IpAddress& address) const;
  // As parse() takes it.
  void append_to(std::string& out) const;

 private:
  AddressRange(const IpAddress& first, unsigned prefix_bits)
      : first_(first), prefix_bits_(prefix_bits) {}

  IpAddress first_;
  unsigned prefix_bits_;  // of 128; at least 96 for an IPv4 range
};

using AddressRanges = std::vector<AddressRange>;

[[nodiscard]] bool contains(const AddressRanges& ranges, const IpAddress& address);

}  // namespace prophecy
