// Requests as frames, each with its length in front.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dht/zookeeper/core/request.hpp"
#include "dht/zookeeper/core/wire.hpp"

namespace prophecy::zookeeper {

// REQUIRES: valid paths.
[[nodiscard]] Bytes encode_request(std::int32_t xid, const Request& request,
                                   std::span<const AccessRule> access);

// The first frame of a connection.
struct Hello {
  std::int64_t last_zxid = 0;
  std::int32_t timeout_ms = 0;
  std::int64_t session_id = 0;  // 0 for a new one
  ByteView password = {};       // kPasswordBytes
};
[[nodiscard]] Bytes encode_hello(const Hello& hello);
[[nodiscard]] Bytes encode_ping();
[[nodiscard]] Bytes encode_auth(const Identity& identity);
[[nodiscard]] Bytes encode_close(std::int32_t xid);

// The server reports at once which of these have fired since `last_zxid`.
struct WatchedPaths {
  std::vector<std::string> data;
  std::vector<std::string> absent;  // watched by Exists
  std::vector<std::string> children;
};
[[nodiscard]] Bytes encode_watches(std::int64_t last_zxid, const WatchedPaths& paths);

}  // namespace prophecy::zookeeper
