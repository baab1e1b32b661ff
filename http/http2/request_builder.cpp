#include "http/http2/request_builder.hpp"

#include <algorithm>

#include "http/framing.hpp"
#include "http/request_rules.hpp"
#include "http/text.hpp"

namespace prophecy::http {
namespace {
constexpr std::size_t kMethodBytesMax = 32;
}  // namespace

void RequestBuilder::start(Request& into) {
  request_ = &into;
  request_->clear();
  failure_ = {};
  scheme_.clear();
  authority_.clear();
  cookie_.clear();
  field_bytes_ = 0;
  header_bytes_ = 0;
  has_authority_ = false;
  body_bytes_ = 0;
  expects_continue_ = false;
}

void RequestBuilder::shrink(std::size_t bytes_max) {
  for (std::string* text : {&scheme_, &authority_, &cookie_}) {
    if (text->capacity() > bytes_max) std::string().swap(*text);
  }
}

void RequestBuilder::refuse(std::uint16_t status, std::string_view reason) {
  if (failure_.reason.empty()) failure_ = {status, reason};
}

void RequestBuilder::add(std::string_view name, std::string_view value,
                         const MessageLimits& limits) {
  field_bytes_ += name.size() + value.size();
  if (!failure_.reason.empty()) return;
  if (name.starts_with(':')) return add_pseudo(name, value, limits);
  header_bytes_ += name.size() + value.size();
  if (header_bytes_ > limits.header_bytes_max) {
    return refuse(431, "fields too large");
  }
  if (!is_token(name)) return refuse(400, "invalid field name");
  if (!is_field_value(value)) return refuse(400, "invalid character in a field value");
  if (name == "cookie") return add_cookie(value);
  if (request_->fields.size() >= limits.header_count_max) return refuse(431, "too many fields");
  request_->fields.add(name, value);
}

void RequestBuilder::add_pseudo(std::string_view name, std::string_view value,
                                const MessageLimits& limits) {
  if (name == ":method") {
    if (!is_token(value) || value.size() > kMethodBytesMax) return refuse(400, "not a method");
    request_->method.assign(value);
  } else if (name == ":path") {
    if (value.size() > limits.target_bytes_max) return refuse(414, "target too long");
    if (!std::all_of(value.begin(), value.end(), is_target_char)) {
      return refuse(400, "invalid character in the target");
    }
    request_->target.assign(value);
  } else if (name == ":scheme") {
    scheme_.assign(value.substr(0, kMethodBytesMax));
  } else if (name == ":authority") {
    if (value.size() > limits.header_bytes_max) return refuse(431, "fields too large");
    if (!is_field_value(value)) return refuse(400, "invalid character in a field value");
    has_authority_ = true;
    authority_.assign(value);
  } else {
    refuse(400, "unknown pseudo-header field");
  }
}

// It may come in crumbs, which are one field to everybody else (RFC 9113, 8.2.3).
void RequestBuilder::add_cookie(std::string_view crumb) {
  if (!cookie_.empty()) cookie_ += "; ";
  cookie_.append(crumb);
}

void RequestBuilder::take_authority() {
  if (!has_authority_) return;
  const auto host = request_->fields.find("host");
  if (!host) return request_->fields.add("host", authority_);
  if (!equal_ignoring_case(*host, authority_)) refuse(400, "Host and authority disagree");
}

void RequestBuilder::finish(std::string_view scheme, const MessageLimits& limits) {
  if (!failure_.reason.empty()) return;
  if (!cookie_.empty()) request_->fields.add("cookie", cookie_);
  take_authority();
  const std::string_view target = request_->target;
  if (request_->method != "CONNECT" && !target.starts_with('/') && target != "*") {
    return refuse(400, "target of an unknown form");
  }
  if (const ParseFailure wrong = check_request(*request_); !wrong.reason.empty()) {
    return refuse(wrong.status, wrong.reason);
  }
  if (!is_known_method(request_->method)) return refuse(501, "method not known");
  const bool is_scheme = scheme.empty() ? scheme_ == "http" || scheme_ == "https"
                                        : equal_ignoring_case(scheme_, scheme);
  if (!is_scheme) return refuse(421, "target of another scheme");
  const Framing framing = framing_of(request_->fields, request_->version_minor, BodyFraming::none);
  if (!framing.failure.reason.empty()) {
    return refuse(framing.failure.status, framing.failure.reason);
  }
  if (framing.length > limits.body_bytes_max) return refuse(413, "body too large");
  body_bytes_ = framing.length;
  expects_continue_ = request_->fields.count("expect") > 0;
}

}  // namespace prophecy::http
