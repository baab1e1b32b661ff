#include "http/head_parser.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "http/request_rules.hpp"
#include "http/text.hpp"

namespace prophecy::http {
namespace {

// Names, values and the target have limits of their own; this is what surrounds them. Without it
// a peer could send spaces in front of a value for ever.
std::size_t head_bytes_max(const MessageLimits& limits) {
  return limits.target_bytes_max + limits.header_bytes_max + 4 * limits.header_count_max + 256;
}

HeadParser& self(llhttp_t* parser) {
  return *static_cast<HeadParser*>(parser->data);
}

}  // namespace

HeadParser::HeadParser(Sink sink, const MessageLimits& limits) : sink_(sink), limits_(limits) {
  llhttp_init(&parser_, is_request() ? HTTP_REQUEST : HTTP_RESPONSE, &callbacks());
  parser_.data = this;
  start();
}

void HeadParser::start() {
  llhttp_reset(&parser_);
  failure_ = {};
  bytes_before_input_ = 0;
  field_bytes_ = 0;
  protocol_.clear();
  version_seen_ = false;
  version_known_ = false;
  complete_ = false;
}

const llhttp_settings_t& HeadParser::callbacks() {
  static const llhttp_settings_t settings = [] {
    llhttp_settings_t s;
    llhttp_settings_init(&s);
    s.on_method = [](llhttp_t* p, const char* at, size_t size) {
      if (self(p).is_request()) self(p).sink_.method->append(at, size);
      return 0;
    };
    s.on_url = [](llhttp_t* p, const char* at, size_t size) {
      return self(p).on_target({at, size});
    };
    s.on_protocol = [](llhttp_t* p, const char* at, size_t size) {
      self(p).protocol_.append(at, size);
      return 0;
    };
    s.on_protocol_complete = [](llhttp_t* p) { return self(p).on_protocol_complete(); };
    s.on_version = [](llhttp_t* p, const char* at, size_t) { return self(p).on_version(at); };
    s.on_version_complete = [](llhttp_t* p) { return self(p).on_version_complete(); };
    s.on_status = [](llhttp_t* p, const char* at, size_t size) {
      return self(p).on_reason_phrase({at, size});
    };
    s.on_header_field = [](llhttp_t* p, const char* at, size_t size) {
      return self(p).on_name({at, size});
    };
    s.on_header_value = [](llhttp_t* p, const char* at, size_t size) {
      return self(p).on_value({at, size});
    };
    s.on_header_value_complete = [](llhttp_t* p) { return self(p).on_field_complete(); };
    s.on_headers_complete = [](llhttp_t* p) { return self(p).on_head_complete(); };
    return s;
  }();
  return settings;
}

ParseProgress HeadParser::feed(std::string_view input) {
  const std::size_t room = head_bytes_max(limits_) - bytes_before_input_;
  const std::string_view piece = input.substr(0, room);
  input_begin_ = piece.data();
  const llhttp_errno_t error = llhttp_execute(&parser_, piece.data(), piece.size());
  if (error == HPE_PAUSED && complete_) {
    if (failure_.reason.empty()) {
      const char* end = llhttp_get_error_pos(&parser_);
      return {ParseState::head_done, static_cast<std::size_t>(end - piece.data())};
    }
    return {ParseState::failed, 0};
  }
  if (error != HPE_OK) {
    note_llhttp_failure(error, piece);
    return {ParseState::failed, 0};
  }
  bytes_before_input_ += piece.size();
  if (piece.size() < input.size() || bytes_before_input_ == head_bytes_max(limits_)) {
    fail(431, "head too large");
    return {ParseState::failed, 0};
  }
  return {ParseState::need_more, input.size()};
}

int HeadParser::on_target(std::string_view piece) {
  if (sink_.target->size() + piece.size() > limits_.target_bytes_max) {
    return fail(414, "target too long");
  }
  if (!std::all_of(piece.begin(), piece.end(), is_target_char)) {
    return fail(400, "invalid character in the target");
  }
  sink_.target->append(piece);
  return 0;
}

int HeadParser::on_protocol_complete() {
  return protocol_ == "HTTP" ? 0 : fail(400, "not HTTP");
}

int HeadParser::on_version(const char* at) {
  if (version_seen_) return 0;
  version_seen_ = true;
  // llhttp skips any number of spaces between the parts of the request line; the version's place
  // tells whether there was more than one.
  const std::size_t place = bytes_before_input_ + static_cast<std::size_t>(at - input_begin_);
  const std::size_t expected =
      is_request() ? sink_.method->size() + sink_.target->size() + 2 + 5 : 5;
  return place == expected ? 0 : fail(400, "more than one space in the start line");
}

int HeadParser::on_version_complete() {
  version_known_ = parser_.http_major == 1 && parser_.http_minor <= 1;
  return version_known_ ? 0 : fail(505, "HTTP version not supported");
}

// It is not kept; but whoever sends control characters is not well.
int HeadParser::on_reason_phrase(std::string_view piece) {
  return is_field_value(piece) ? 0 : fail(400, "invalid character in the reason phrase");
}

int HeadParser::on_name(std::string_view piece) {
  if (sink_.fields->open_name().empty() && sink_.fields->size() >= limits_.header_count_max) {
    return fail(431, "too many fields");
  }
  field_bytes_ += piece.size();
  if (field_bytes_ > limits_.header_bytes_max) return fail(431, "fields too large");
  sink_.fields->extend_name(piece);
  return 0;
}

int HeadParser::on_value(std::string_view piece) {
  field_bytes_ += piece.size();
  if (field_bytes_ > limits_.header_bytes_max) return fail(431, "fields too large");
  sink_.fields->extend_value(piece);
  return 0;
}

int HeadParser::on_field_complete() {
  FieldList& fields = *sink_.fields;
  if (!is_token(fields.open_name())) return fail(400, "invalid field name");
  if (!is_field_value(fields.open_value())) return fail(400, "invalid character in a field value");
  fields.end_field();
  return 0;
}

int HeadParser::on_head_complete() {
  complete_ = true;
  if (!version_seen_) fail(505, "HTTP version not supported");
  if (!sink_.fields->open_name().empty()) fail(400, "incomplete field");
  return HPE_PAUSED;
}

int HeadParser::fail(std::uint16_t status, std::string_view reason) {
  if (failure_.reason.empty()) failure_ = {status, reason};
  return HPE_USER;
}

void HeadParser::note_llhttp_failure(llhttp_errno_t error, std::string_view input) {
  if (!failure_.reason.empty()) return;  // one of ours
  const char* place = llhttp_get_error_pos(&parser_);
  switch (error) {
    case HPE_INVALID_METHOD: {
      // An unknown method, unless it cannot be a method at all.
      const bool inside = place >= input.data() && place < input.data() + input.size();
      const bool leading = inside && bytes_before_input_ == 0 && place == input.data();
      const bool method = inside && (is_token_char(*place) || (*place == ' ' && !leading));
      fail(method ? 501 : 400, method ? "method not known" : "not a method");
      return;
    }
    case HPE_INVALID_VERSION:
      if (version_known_) {
        fail(400, "version without a line end");
        return;
      }
      [[fallthrough]];
    case HPE_PAUSED_H2_UPGRADE:
      fail(505, "HTTP version not supported");
      return;
    case HPE_INVALID_TRANSFER_ENCODING: {
      const bool both = sink_.fields->count("content-length") > 0;
      fail(both ? 400 : 501,
           both ? "Content-Length beside Transfer-Encoding" : "Transfer-Encoding is not chunked");
      return;
    }
    default:
      // Literals inside llhttp.
      fail(400, llhttp_get_error_reason(&parser_));
  }
}

}  // namespace prophecy::http
