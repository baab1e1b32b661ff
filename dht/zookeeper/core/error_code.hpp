// ZooKeeper's codes for errors (KeeperException.Code), as far as this client tells them apart. A
// server may send any other number.
#pragma once

#include <cstdint>
#include <string>

namespace prophecy::zookeeper {

enum class ErrorCode : std::int32_t {
  ok = 0,
  runtime_inconsistency = -2,  // of a step behind the one that failed
  marshalling_error = -5,
  unimplemented = -6,
  bad_arguments = -8,
  no_node = -101,
  no_auth = -102,
  bad_version = -103,
  no_children_for_ephemerals = -108,
  node_exists = -110,
  not_empty = -111,
  session_expired = -112,
  invalid_acl = -114,
  auth_failed = -115,
  session_moved = -118,
  not_read_only = -119,
  throttled = -127,
};

// "no node (-101)".
[[nodiscard]] std::string to_string(ErrorCode code);

// A server that answers a write with this code has not carried it out, and will not. Other codes
// (a time-out or a fault within the server, a code that is not known here) leave that open.
[[nodiscard]] bool means_unchanged(ErrorCode code);

}  // namespace prophecy::zookeeper
