// The head of one message, through llhttp. llhttp sees nothing but the head: the framing of the
// body is decided by framing.hpp and undone by body_decoder.hpp, so that llhttp's leniencies about
// bodies, upgrades and closed connections do not matter here. What llhttp lets pass in a head is
// refused in its callbacks. Internal to http/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <llhttp.h>

#include "http/parser.hpp"

namespace prophecy::http {

class HeadParser {
 public:
  // Where the parts go. `method` and `target` are null for a response's head.
  struct Sink {
    std::string* method = nullptr;
    std::string* target = nullptr;
    FieldList* fields = nullptr;
  };

  // All must outlive the parser.
  HeadParser(Sink sink, const MessageLimits& limits);
  HeadParser(const HeadParser&) = delete;
  HeadParser& operator=(const HeadParser&) = delete;

  // Ready for a new head. The sinks are the caller's to clear.
  void start();
  // Answers need_more, head_done or failed; after head_done, `consumed` ends at the empty line.
  [[nodiscard]] ParseProgress feed(std::string_view input);
  [[nodiscard]] const ParseFailure& failure() const { return failure_; }

  // After head_done.
  [[nodiscard]] std::uint8_t version_minor() const { return parser_.http_minor; }
  [[nodiscard]] std::uint16_t status() const { return parser_.status_code; }

 private:
  static const llhttp_settings_t& callbacks();
  int on_target(std::string_view piece);
  int on_protocol_complete();
  int on_version(const char* at);
  int on_version_complete();
  int on_reason_phrase(std::string_view piece);
  int on_name(std::string_view piece);
  int on_value(std::string_view piece);
  int on_field_complete();
  int on_head_complete();
  int fail(std::uint16_t status, std::string_view reason);
  void note_llhttp_failure(llhttp_errno_t error, std::string_view input);
  [[nodiscard]] bool is_request() const { return sink_.method != nullptr; }

  Sink sink_;
  const MessageLimits& limits_;
  llhttp_t parser_{};
  ParseFailure failure_;
  const char* input_begin_ = nullptr;   // of the piece being fed
  std::size_t bytes_before_input_ = 0;  // of this head, in earlier pieces
  std::size_t field_bytes_ = 0;         // names and values so far
  std::string protocol_;
  bool version_seen_ = false;   // its first byte
  bool version_known_ = false;  // whole, and one of ours
  bool complete_ = false;
};

}  // namespace prophecy::http
