// Messages of a ZooKeeper server: its welcome, answers, events.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "dht/zookeeper/core/error_code.hpp"
#include "dht/zookeeper/core/limits.hpp"
#include "dht/zookeeper/core/request.hpp"

namespace prophecy::zookeeper {

// The state of a node. Zxids number the service's writes.
struct Stat {
  std::int64_t created_zxid = 0;
  std::int64_t modified_zxid = 0;
  std::int64_t created_ms = 0;  // by the leader's wall clock
  std::int64_t modified_ms = 0;
  std::int32_t version = 0;  // of its data
  std::int32_t children_version = 0;
  std::int32_t access_version = 0;
  std::int64_t ephemeral_owner = 0;  // a session; 0: the node is not ephemeral
  std::int32_t data_bytes = 0;
  std::int32_t children = 0;
  std::int64_t children_zxid = 0;
  bool operator==(const Stat&) const = default;
};

// The answer to Hello. Without a session (id 0) the one that was asked for is over.
struct Welcome {
  std::int32_t timeout_ms = 0;
  std::int64_t session_id = 0;
  std::array<std::uint8_t, kPasswordBytes> password{};
};

// In front of every later frame.
struct AnswerHeader {
  std::int32_t xid = 0;
  std::int64_t zxid = 0;
  ErrorCode code = ErrorCode::ok;
};

struct Answer {
  Bytes data = {};                         // of GetData
  Stat stat = {};                          // of GetData, Exists and SetData
  std::vector<std::string> children = {};  // of GetChildren
  // The code of each step of a Multi. All are `ok`, or no step is carried out; then the step that
  // failed has another code than `ok` and `runtime_inconsistency`.
  std::vector<ErrorCode> steps = {};
  bool operator==(const Answer&) const = default;
};

struct WatchEvent {
  // Others, such as the end of a watch, concern nobody here.
  enum class Kind : std::uint8_t { created, deleted, data_changed, children_changed, other };
  Kind kind = Kind::other;
  std::string path;
};

// A frame is read in two steps: its header, then the rest by what the header's number stands for.
struct HeadedFrame {
  AnswerHeader header;
  ByteView rest;
};

// Errors are of kind `protocol`: the server breaks the protocol.
[[nodiscard]] Result<Welcome> decode_welcome(ByteView frame);
[[nodiscard]] Result<HeadedFrame> decode_header(ByteView frame);
// Requires an answer whose code is `ok`.
[[nodiscard]] Result<Answer> decode_answer(const Request& request, ByteView rest);
[[nodiscard]] Result<WatchEvent> decode_event(ByteView rest);

}  // namespace prophecy::zookeeper
