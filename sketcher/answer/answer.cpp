#include "sketcher/answer/answer.hpp"

#include <algorithm>
#include <iterator>

#include "http/cache_control.hpp"
#include "http/selection.hpp"
#include "http/writer.hpp"

namespace prophecy::sketcher {
namespace {

bool has_no_content(std::uint16_t status) {
  return status == 204 || status == 304;
}

std::string_view field_of(const sketch::AnswerForm& form, std::string_view wanted) {
  sketch::AnswerFields fields(form);
  std::string_view name;
  std::string_view value;
  while (fields.next(name, value)) {
    if (name == wanted) return value;
  }
  return {};
}

// The fields that a 304 repeats (RFC 9110, 15.4.5).
bool stays_in_not_modified(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "cache-control", "content-location", "expires", "last-modified", "vary", "set-cookie"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace

const http::FieldList* conditions_of(const http::Request& request) {
  return http::is_read_method(request.method) ? &request.fields : nullptr;
}

Answer::Answer(const sketch::AnswerForm& form, const std::optional<sketch::Sketch>& sketch,
               const AnswerContext& context)
    : context_(context),
      form_(&form),
      status_(form.status),
      body_(form.body),
      size_(form.body_bytes()) {
  selectable_ = form.status == 200 && context.conditions != nullptr;
  // An answer to HEAD was sketched without its body: its digest is not the representation's.
  if (sketch.has_value() && selectable_ && !context.answers_head) set_tag(*sketch);
  if (selectable_ && http::is_conditional(*context.conditions)) select_from(*context.conditions);
  // The length of the body that HEAD did not bring is one of its covered fields.
  if (form_ == nullptr) return;
  if (form.in_blocks()) {
    if (status_ == 304) size_ = 0;
    set_length(size_);
  } else {
    set_body(body_);
  }
}

Answer::Answer(std::uint16_t status, std::string_view reason, const AnswerContext& context)
    : context_(context) {
  become_own(status, reason);
}

Answer::Answer(const http::Response& passed, std::uint64_t size, const AnswerContext& context)
    : context_(context),
      passed_(&passed),
      status_(passed.status),
      body_(passed.body),
      size_(size) {}

void Answer::select_from(const http::FieldList& conditions) {
  const std::uint64_t length = form_->body_bytes();
  const http::Selection selection = http::select(
      conditions, context_.answers_head,
      {.etag = tag(), .last_modified = field_of(*form_, "last-modified"), .length = length});
  switch (selection.kind) {
    case http::Selection::Kind::whole:
      return;
    case http::Selection::Kind::part:
      status_ = 206;
      first_ = selection.first;
      size_ = selection.size;
      if (!form_->in_blocks()) body_ = body_.substr(first_, size_);
      fmt::format_to(std::back_inserter(content_range_), "bytes {}-{}/{}", selection.first,
                     selection.first + selection.size - 1, length);
      return;
    case http::Selection::Kind::not_modified:
      status_ = 304;
      return;
    case http::Selection::Kind::failed:
      return become_own(412, "precondition-failed");
    case http::Selection::Kind::unsatisfiable:
      fmt::format_to(std::back_inserter(content_range_), "bytes */{}", length);
      return become_own(416, "range-not-satisfiable");
  }
}

void Answer::become_own(std::uint16_t status, std::string_view reason) {
  form_ = nullptr;
  size_ = 0;
  status_ = status;
  reason_ = reason;
  fmt::format_to(std::back_inserter(text_), "{} {}: {}\n", status, http::reason_phrase(status),
                 reason);
  set_body({text_.data(), text_.size()});
  // The answer to HEAD says how long the body would be.
  if (length_.size() == 0) fmt::format_to(std::back_inserter(length_), "{}", text_.size());
}

void Answer::set_tag(const sketch::Sketch& sketch) {
  static constexpr char kDigits[] = "0123456789abcdef";
  tagged_ = true;
  tag_.front() = tag_.back() = '"';
  for (std::size_t i = 0; i < kTagBytes; ++i) {
    tag_[1 + 2 * i] = kDigits[sketch[i] >> 4];
    tag_[2 + 2 * i] = kDigits[sketch[i] & 15];
  }
}

void Answer::set_body(std::string_view body) {
  const bool has_body = !context_.answers_head && !has_no_content(status_);
  body_ = has_body ? body : std::string_view();
  set_length(body.size());
}

void Answer::set_length(std::uint64_t length) {
  const bool has_body = !context_.answers_head && !has_no_content(status_);
  if (!has_body) return;
  const fmt::format_int digits(length);
  length_.append(digits.data(), digits.data() + digits.size());
}

std::string_view Answer::expires() const {
  const auto now = http::parse_http_date(context_.date);
  const auto age = http::max_age(field_of(*form_, "cache-control"));
  if (!now || !age) return {};
  expires_ = http::http_date_text(*now + std::chrono::seconds(*age));
  return {expires_.data(), expires_.size()};
}

bool Answer::is_delivered(std::string_view name) const {
  if (status_ == 304 && selectable_ && !stays_in_not_modified(name)) return false;
  // Means nothing in a 200, and is ours in a 206.
  return !(selectable_ && name == "content-range");
}

}  // namespace prophecy::sketcher
