// What a ZooKeeper server sends, as frames with their lengths, for tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "dht/zookeeper/core/answer.hpp"
#include "dht/zookeeper/core/jute.hpp"
#include "dht/zookeeper/core/wire.hpp"

namespace prophecy::zookeeper::frames {

inline Bytes framed(const Bytes& content) {
  Bytes frame;
  JuteWriter(frame).buffer(content);
  return frame;
}

inline Bytes welcome(std::int64_t session, std::int32_t timeout_ms, std::uint8_t password = 7) {
  Bytes content;
  JuteWriter out(content);
  out.integer(0);
  out.integer(timeout_ms);
  out.long_integer(session);
  out.buffer(Bytes(kPasswordBytes, password));
  out.boolean(false);
  return framed(content);
}

inline Bytes answer(std::int32_t xid, ErrorCode code = ErrorCode::ok, const Bytes& body = {},
                    std::int64_t zxid = 1) {
  Bytes content;
  JuteWriter out(content);
  out.integer(xid);
  out.long_integer(zxid);
  out.integer(static_cast<std::int32_t>(code));
  content.insert(content.end(), body.begin(), body.end());
  return framed(content);
}

inline Bytes stat(std::int32_t version, std::int64_t owner = 0) {
  Bytes body;
  JuteWriter out(body);
  for (int i = 0; i < 4; ++i)
    out.long_integer(100 + i);
  out.integer(version);
  out.integer(5);
  out.integer(6);
  out.long_integer(owner);
  out.integer(8);
  out.integer(9);
  out.long_integer(10);
  return body;
}

inline Bytes data(const std::string& text, std::int32_t version) {
  Bytes body;
  JuteWriter(body).string(text);
  const Bytes tail = stat(version);
  body.insert(body.end(), tail.begin(), tail.end());
  return body;
}

inline Bytes text(const std::string& path) {
  Bytes body;
  JuteWriter(body).string(path);
  return body;
}

inline void step(Bytes& body, Operation operation, ErrorCode code, const Bytes& result) {
  JuteWriter out(body);
  out.integer(static_cast<std::int32_t>(operation));
  out.boolean(false);
  out.integer(static_cast<std::int32_t>(code));
  body.insert(body.end(), result.begin(), result.end());
}
inline void failed_step(Bytes& body, ErrorCode code) {
  Bytes result;
  JuteWriter(result).integer(static_cast<std::int32_t>(code));
  step(body, Operation::error, code, result);
}
inline void last_step(Bytes& body) {
  JuteWriter out(body);
  out.integer(-1);
  out.boolean(true);
  out.integer(-1);
}

inline Bytes event(std::int32_t type, const std::string& path) {
  Bytes body;
  JuteWriter out(body);
  out.integer(type);
  out.integer(3);
  out.string(path);
  return answer(kEventXid, ErrorCode::ok, body, -1);
}

}  // namespace prophecy::zookeeper::frames
