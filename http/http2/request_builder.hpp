// Makes a Request of the fields of an HTTP/2 message, as strict as RequestParser is with HTTP/1:
// the same characters, limits, methods, targets and Host (RFC 9113, 8.3). What is left of the rules
// is nghttp2's, before any field comes here: pseudo-header fields whole, single and first, no field
// of a connection's, names in lower case.
//
// Not thread-safe; no I/O.
#pragma once

#include <string>
#include <string_view>

#include "http/parser.hpp"

namespace prophecy::http {

class RequestBuilder {
 public:
  void start(Request& into);
  // Gives back storage that a large request needed. start() comes before the next one.
  void shrink(std::size_t bytes_max);

  void add(std::string_view name, std::string_view value, const MessageLimits& limits);
  // A field that counts and is not looked at.
  void skip(std::string_view name, std::string_view value) {
    field_bytes_ += name.size() + value.size();
  }
  // A field that cannot be one.
  void refuse(std::uint16_t status, std::string_view reason);
  // What it holds beside the request.
  [[nodiscard]] std::size_t held_bytes() const {
    return scheme_.capacity() + authority_.capacity() + cookie_.capacity();
  }
  // All fields are there. `scheme` is what the connection is ("http", "https"); empty: either.
  void finish(std::string_view scheme, const MessageLimits& limits);
  // What the request names.
  [[nodiscard]] std::string_view scheme() const { return scheme_; }

  // With a reason: the request is to be refused.
  [[nodiscard]] const ParseFailure& failure() const { return failure_; }
  // After finish(), without a failure: the client waits for "100 Continue".
  [[nodiscard]] bool expects_continue() const { return expects_continue_; }
  // The same: of how many bytes Content-Length says that the body is.
  [[nodiscard]] std::uint64_t body_bytes() const { return body_bytes_; }
  // Of all fields so far, refused ones too.
  [[nodiscard]] std::size_t field_bytes() const { return field_bytes_; }

 private:
  void add_pseudo(std::string_view name, std::string_view value, const MessageLimits& limits);
  void add_cookie(std::string_view crumb);
  void take_authority();

  Request* request_ = nullptr;
  ParseFailure failure_;
  std::string scheme_;
  std::string authority_;
  std::string cookie_;
  std::size_t field_bytes_ = 0;
  std::size_t header_bytes_ = 0;  // of those that HTTP/1 has as well
  bool has_authority_ = false;
  std::uint64_t body_bytes_ = 0;
  bool expects_continue_ = false;
};

}  // namespace prophecy::http
