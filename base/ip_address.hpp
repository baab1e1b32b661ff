// An IP address as a value of 16 bytes; an IPv4 address is held as the IPv6 address that maps it
// (::ffff:a.b.c.d), so that a client is the same one whether it came to an IPv4 socket or to one
// for both.
//
// Nothing here allocates but to_string().
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace prophecy {

class IpAddress {
 public:
  IpAddress() = default;  // "::"
  explicit IpAddress(std::span<const std::uint8_t, 4> v4);
  explicit IpAddress(std::span<const std::uint8_t, 16> v6);
  // The numeric forms of inet_pton(): no brackets, no zone, no leading zeros in IPv4.
  [[nodiscard]] static std::optional<IpAddress> parse(std::string_view text);

  [[nodiscard]] bool is_v4() const;
  // In network order; of an IPv4 address the last four are its own.
  [[nodiscard]] const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }

  // The network that an IPv6 address lies in, by its first bits (at most 128); an IPv4 address is
  // its own. Budgets of clients go by it: whoever has one IPv6 address has a whole network of them.
  [[nodiscard]] IpAddress network(unsigned ipv6_prefix_bits) const;

  // In its usual spelling, an IPv4 address always as one.
  void append_to(std::string& out) const;
  [[nodiscard]] std::string to_string() const;

  auto operator<=>(const IpAddress&) const = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
};

}  // namespace prophecy
