// `Http2Call` is a request that this process makes over HTTP/2, and its answer. The owner of the
// connection derives its own class from it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/byte_source.hpp"
#include "http/message.hpp"

namespace prophecy::http {

class Http2Call {
 public:
  Http2Call() = default;
  virtual ~Http2Call() = default;
  Http2Call(const Http2Call&) = delete;
  Http2Call& operator=(const Http2Call&) = delete;

  // Status and fields of the answer, once its head is there. Its body is nobody's but the
  // handler's.
  Response response;

  // It is under way: the last call for it has not come.
  [[nodiscard]] bool open() const { return id_ != 0; }
  // How much of the answer's body was handed over, and is not consumed.
  [[nodiscard]] std::size_t unconsumed_bytes() const { return unconsumed_bytes_; }

 private:
  friend class Http2ClientConnection;

  std::int32_t id_ = 0;    // 0: closed
  std::string_view body_;  // of the request
  ByteSourcePtr large_body_;
  std::uint64_t sent_ = 0;  // of it
  std::uint64_t size_ = 0;
  std::size_t unconsumed_bytes_ = 0;
  std::size_t field_bytes_ = 0;
  bool head_done_ = false;
  bool ended_ = false;      // the answer is whole
  bool malformed_ = false;  // by a rule of ours
  bool unprocessed_ = false;
};

}  // namespace prophecy::http
