// Bounds of the ZooKeeper client, each against a server that lies or a caller that asks too much.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"

namespace prophecy::zookeeper {

// One answer or event of a server, without its length. ZooKeeper's own bound is 1 MiB - 1 for
// what is stored in a node (jute.maxbuffer); the rest is room for headers.
inline constexpr std::size_t kFrameBytesMax = (1U << 20) + 4096;
// A request with its length. A server closes the connection beyond jute.maxbuffer.
inline constexpr std::size_t kRequestBytesMax = (1U << 20) - 4096;

inline constexpr std::size_t kPathBytesMax = 255;
inline constexpr std::size_t kStepsMax = 64;        // of one transaction
inline constexpr std::size_t kChildrenMax = 16384;  // of one node
inline constexpr std::size_t kWatchesMax = 1024;    // of one session, kinds and paths
inline constexpr std::size_t kServersMax = 16;
inline constexpr std::size_t kIdentitiesMax = 8;  // that a client signs in with
inline constexpr std::size_t kIdentityBytesMax = 1024;
inline constexpr std::size_t kAccessRulesMax = 64;

// Sent or to be sent, and not answered yet.
inline constexpr std::size_t kOutstandingMax = 1024;
inline constexpr std::size_t kOutstandingBytesMax = 8U << 20;

// A session's time-out, as a server grants it. With ZooKeeper's defaults a server grants 4 to 40 s.
inline constexpr milliseconds kSessionTimeoutMin{200};
inline constexpr milliseconds kSessionTimeoutMax{600'000};

inline constexpr std::size_t kPasswordBytes = 16;

// After each reconnection all watches are set anew by one request.
static_assert(kWatchesMax * (4 + kPathBytesMax) + 64 <= kRequestBytesMax);
static_assert(kOutstandingBytesMax >= kRequestBytesMax);

}  // namespace prophecy::zookeeper
