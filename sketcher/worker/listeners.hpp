// The listening sockets, opened by the master and inherited by the workers.
#pragma once

#include <vector>

#include "base/endpoint.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace prophecy::sketcher {

// One address, one socket a worker (SO_REUSEPORT): the kernel spreads clients over the workers,
// and clients that wait for a worker that has died wait for its replacement.
struct Listener {
  Endpoint address;               // with the port that was chosen, where the configuration said 0
  std::vector<UniqueFd> sockets;  // by worker
};

[[nodiscard]] Result<Listener> open_listener(const Endpoint& address, std::uint32_t workers);

}  // namespace prophecy::sketcher
