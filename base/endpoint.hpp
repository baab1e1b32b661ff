// A TCP address as configuration writes it: "127.0.0.1:8080" or "[::1]:8080". Numeric only: a
// name would make the trusted program depend on a resolver.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace prophecy {

struct Endpoint {
  std::string address;     // numeric, in its usual spelling, without brackets
  std::uint16_t port = 0;  // 0: any free port, for a listener

  bool operator==(const Endpoint&) const = default;
};

[[nodiscard]] Result<Endpoint> parse_endpoint(std::string_view text);
[[nodiscard]] std::string to_string(const Endpoint& endpoint);

}  // namespace prophecy
