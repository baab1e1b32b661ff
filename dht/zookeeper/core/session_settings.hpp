// How a session with a ZooKeeper service is held.
#pragma once

#include <cstddef>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "dht/zookeeper/core/request.hpp"

namespace prophecy::zookeeper {

struct SessionSettings {
  std::size_t servers = 1;
  milliseconds timeout{4000};   // as asked for; servers grant 2 to 20 of their ticks
  milliseconds pause_min{100};  // between attempts
  milliseconds pause_max{5000};
  std::vector<Identity> identities = {};
  std::vector<AccessRule> access = {AccessRule{}};  // of created nodes; never empty
};

// Says what is wrong with them.
[[nodiscard]] Result<> check(const SessionSettings& settings);

}  // namespace prophecy::zookeeper
