// `AddressPrefixes` finds the longest of many address prefixes that an address lies in: the paper's
// sites, from a file of prefixes.
//
// No I/O. May be shared by threads once it is sorted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.hpp"

namespace prophecy::measurement {

class AddressPrefixes {
 public:
  // A line of a file: "10.0.0.0/8", "2001:db8::/32", an optional name behind spaces or a comma;
  // empty, or a comment behind "#". False: it is none of these.
  [[nodiscard]] bool add_line(std::string_view line);
  // Behind the last line, and before find().
  void sort();

  // Its number.
  [[nodiscard]] std::optional<std::uint32_t> find(const IpAddress& address) const;
  // The name, or the prefix as it was written.
  [[nodiscard]] const std::string& name_of(std::uint32_t number) const { return names_[number]; }
  [[nodiscard]] std::size_t size() const { return names_.size(); }

 private:
  struct Prefix {
    IpAddress network;
    unsigned bits = 0;  // of 128
    std::uint32_t number = 0;
    auto operator<=>(const Prefix&) const = default;
  };

  std::vector<Prefix> prefixes_;     // sorted by bits, then by network
  std::vector<std::size_t> begins_;  // of the prefixes of each length that occurs, longest first
  std::vector<std::string> names_;
};

}  // namespace prophecy::measurement
