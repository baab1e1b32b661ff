// What an operator should look at: why a replica holds another one to be in trouble, or worse. A
// hint and no verdict; nothing is decided by it.
#pragma once

#include <string>
#include <vector>

#include "pbft/core/state/counters.hpp"
#include "pbft/core/state/settings.hpp"

namespace prophecy::pbft {

// So many heartbeats without a word.
constexpr int kSilentHeartbeats = 5;
// So many checkpoint intervals behind.
constexpr std::uint64_t kBehindIntervals = 2;
// So long what was wrong is held against a replica.
constexpr Duration kRemembered = std::chrono::minutes(10);

// One line a reason; empty when all is well. `started_at` is when this replica began to listen.
[[nodiscard]] std::vector<std::string> suspicions(const PeerStanding& peer,
                                                  const ReplicaSettings& settings,
                                                  TimePoint started_at, TimePoint now);

}  // namespace prophecy::pbft
