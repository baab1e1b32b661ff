// One request of an HTTP/2 connection and its answer. Whoever owns the connection derives what it
// needs for them from this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/http2/request_builder.hpp"
#include "http/message.hpp"

namespace prophecy::http {

class Http2Stream {
 public:
  Http2Stream() = default;
  virtual ~Http2Stream() = default;
  Http2Stream(const Http2Stream&) = delete;
  Http2Stream& operator=(const Http2Stream&) = delete;

  Request request;
  // Fields that a proxy of ours has added (Http2Limits::is_from_proxy); no part of the request.
  FieldList said_by_proxy;

  // The last call for it has not come.
  [[nodiscard]] bool open() const { return id_ != 0; }
  // The request is whole, or refused.
  [[nodiscard]] bool received() const { return received_; }
  // Of the request's body, by its Content-Length; 0 when it has none.
  [[nodiscard]] std::uint64_t declared_bytes() const { return builder_.body_bytes(); }
  // As the client names it, once the request's head is there.
  [[nodiscard]] std::string_view scheme() const { return builder_.scheme(); }
  // Bytes of the answer's body that are here and could not be sent yet.
  [[nodiscard]] std::size_t unsent() const { return unsent_.size(); }
  // What its request, or what is unsent of its answer, takes in memory.
  [[nodiscard]] std::size_t request_bytes() const {
    return request.held_bytes() + builder_.held_bytes();
  }
  [[nodiscard]] std::size_t answer_bytes() const { return counted_bytes_; }

 protected:
  // Nobody looks at the request's fields and body any more: gives back what is beyond so much for
  // each of its texts.
  void release_fields(std::size_t bytes_max);
  // Nor at the rest of it.
  void release(std::size_t bytes_max);

 private:
  friend class Http2ServerConnection;

  void begin(std::int32_t id);
  void close();

  std::int32_t id_ = 0;  // 0: closed
  RequestBuilder builder_;
  std::uint64_t body_bytes_ = 0;  // that have come
  std::size_t held_bytes_ = 0;    // of these, in memory while the request is not whole
  // What arriving_bytes() has of the request: its fields as well, and storage that is not used yet.
  std::size_t arriving_bytes_ = 0;
  bool head_done_ = false;
  bool received_ = false;
  bool answered_ = false;
  bool request_ended_ = false;   // the client has sent all of it, or the stream is over
  bool broken_off_ = false;      // by us
  bool is_incomplete_ = false;   // broken off, and not for anything that the client has done
  bool violation_told_ = false;  // nghttp2 has told of a frame that it resets the stream for
  std::string kept_;             // what of the body is still to be sent, once its owner may go
  // What unsent_bytes() has of it: all that is held, be most of it sent.
  std::size_t counted_bytes_ = 0;
  std::string_view unsent_;  // in `kept_`, or with whoever is in answer()
  std::uint64_t left_ = 0;   // of the body that has not left yet, here or to come
};

}  // namespace prophecy::http
