// Numbers of ZooKeeper's protocol.
#pragma once

#include <cstdint>

namespace prophecy::zookeeper {

enum class Operation : std::int32_t {
  create = 1,
  remove = 2,
  exists = 3,
  get_data = 4,
  set_data = 5,
  get_children = 8,
  sync = 9,
  ping = 11,
  check = 13,
  multi = 14,
  auth = 100,
  set_watches = 101,
  close_session = -11,
  error = -1,  // of a transaction's step, in an answer
};

// In place of a request's number. Others count from 1.
inline constexpr std::int32_t kEventXid = -1;
inline constexpr std::int32_t kPingXid = -2;
inline constexpr std::int32_t kAuthXid = -4;
inline constexpr std::int32_t kWatchesXid = -8;

inline constexpr std::int32_t kEphemeralFlag = 1;
inline constexpr std::int32_t kProtocolVersion = 0;

}  // namespace prophecy::zookeeper
