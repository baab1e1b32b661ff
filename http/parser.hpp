// Incremental HTTP/1.x parsing through llhttp in its strict mode. A parser fills one message and
// answers need-more, head-done, complete or failed; it never looks at a byte behind the message
// it was asked for, so that pipelined requests stay with the caller.
//
// Whether a message is accepted and what it says does not depend on how the input was cut into
// pieces; of several things wrong with it, which one is named may. After head_done the caller feeds
// on with what is left, if only with an empty piece: a message without a body is complete then. A
// request whose declared body is too large fails with 413 in place of head_done.
//
// Not thread-safe; no I/O.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "http/message.hpp"

namespace prophecy::http {

struct MessageLimits {
  std::size_t target_bytes_max = 8 << 10;   // requests: beyond it 414
  std::size_t header_bytes_max = 32 << 10;  // names and values together: beyond it 431
  std::size_t header_count_max = 128;       // beyond it 431
  std::size_t body_bytes_max = 1 << 20;     // after transfer decoding: beyond it 413
};

enum class ParseState : std::uint8_t {
  need_more,  // all input was consumed, the message goes on
  head_done,  // said once, when the fields are complete and before any byte of the body is read
  complete,   // the message is whole; reset() comes before the next feed()
  failed,     // see failure(); the connection cannot be used any more
};

struct ParseProgress {
  ParseState state = ParseState::need_more;
  std::size_t consumed = 0;  // bytes of the input that belong to this message
};

struct ParseFailure {
  // What a server answers: 400, 413, 414, 417, 431, 501 or 505. For a bad response 502.
  std::uint16_t status = 400;
  std::string_view reason = "";  // static text, for logs and counters
  bool body_too_large = false;
};

class RequestParser {
 public:
  // Both must outlive the parser.
  RequestParser(Request& into, const MessageLimits& limits);
  ~RequestParser();
  RequestParser(RequestParser&&) noexcept;

  // Clears the request and starts on the next one.
  void reset();
  [[nodiscard]] ParseProgress feed(std::string_view input);
  [[nodiscard]] const ParseFailure& failure() const;
  // From head_done on: a body follows, though it may turn out to be empty if it is chunked.
  [[nodiscard]] bool has_body() const;
  // From head_done on: the client waits for "100 Continue" before it sends the body.
  [[nodiscard]] bool expects_continue() const;
  // From head_done on: how many bytes are to come of a body of declared length; 0 for any other.
  [[nodiscard]] std::uint64_t plain_bytes_left() const;
  // True between messages: nothing of the next one has been consumed, but for empty lines.
  [[nodiscard]] bool idle() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class ResponseParser {
 public:
  ResponseParser(Response& into, const MessageLimits& limits);
  ~ResponseParser();
  ResponseParser(ResponseParser&&) noexcept;

  // Clears the response and starts on the answer to a request of this kind (the answer to HEAD
  // has no body). Interim answers (1xx but 101) are skipped; 101 is a failure, unless it was
  // asked for: then it ends with its head, and what follows belongs to another protocol.
  void reset(bool answers_head, bool may_switch = false);
  // Likewise, and the caller takes the body out as it comes: there is no limit to one of a declared
  // length, and this one to any other.
  void reset_in_pieces(bool answers_head, std::size_t undeclared_bytes_max);
  [[nodiscard]] ParseProgress feed(std::string_view input);
  // Of a body of declared length: how many bytes are still to come. They may be read straight into
  // the response instead of being fed: behind what its body holds, no more than these, and told
  // with on_plain_bytes(), which answers need_more or complete.
  [[nodiscard]] std::uint64_t plain_bytes_left() const;
  [[nodiscard]] ParseState on_plain_bytes(std::size_t size);
  // The peer has closed: completes a body that ends with the connection, fails any other.
  [[nodiscard]] ParseProgress finish();
  [[nodiscard]] const ParseFailure& failure() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace prophecy::http
