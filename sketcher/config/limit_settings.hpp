// [limits]: what clients, requests and answers may take.
#pragma once

#include <cstddef>

#include "base/config/config.hpp"
#include "http/parser.hpp"

namespace prophecy::sketcher {

struct LimitSettings {
  std::size_t connections_max = 0;
  std::size_t connections_per_address_max = 0;
  unsigned ipv6_prefix_bits = 0;  // of the network that is one client
  http::MessageLimits request;
  http::MessageLimits answer;
  // By all clients of a worker.
  std::size_t untaken_bytes_max = 0;   // of answers
  std::size_t coming_bytes_max = 0;    // of answers that are read from origins
  std::size_t arriving_bytes_max = 0;  // of requests
};

[[nodiscard]] LimitSettings read_limits(ConfigSection section);

}  // namespace prophecy::sketcher
