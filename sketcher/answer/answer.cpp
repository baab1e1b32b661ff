#include "sketcher/answer/answer.hpp"

#include <algorithm>
#include <iterator>

#include "base/assert.hpp"
#include "http/cache_control.hpp"
#include "http/selection.hpp"
#include "http/text.hpp"
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

std::string_view tag_suffix(http::ContentCoding coding) {
  switch (coding) {
    case http::ContentCoding::gzip:
      return "-gz";
    case http::ContentCoding::brotli:
      return "-br";
    case http::ContentCoding::zstd:
      return "-zs";
    case http::ContentCoding::identity:
      break;
  }
  UNREACHABLE();
}

bool is_listed_type(std::string_view type, const std::vector<std::string>& types) {
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' '))
    type.remove_suffix(1);
  return std::any_of(types.begin(), types.end(), [&](const std::string& listed) {
    return http::equal_ignoring_case(type, listed);
  });
}

// Apart from its length. An answer that sets a cookie is one client's: beside what others choose in
// it, its length in a coding would tell of its secrets (BREACH).
bool may_be_coded(const sketch::AnswerForm& form, const CompressionRules& wanted) {
  static constexpr std::string_view kForbid[] = {
      "content-digest", "content-encoding", "content-md5", "content-range",
      "digest",         "repr-digest",      "set-cookie"};
  bool is_listed = false;
  sketch::AnswerFields fields(form);
  std::string_view name;
  std::string_view value;
  while (fields.next(name, value)) {
    if (std::find(std::begin(kForbid), std::end(kForbid), name) != std::end(kForbid)) return false;
    if (name == "cache-control" && http::forbids_transformation(value)) return false;
    if (name == "content-type") is_listed = is_listed_type(value, wanted.types);
  }
  return is_listed;
}

// RFC 9111, 5.2.1.6.
bool wants_no_transformation(const http::FieldList& request) {
  for (std::size_t i = 0; i < request.size(); ++i) {
    if (request.name(i) == "cache-control" && http::forbids_transformation(request.value(i)))
      return true;
  }
  return false;
}

// The client has it, or wants a part of just that.
bool names_in_conditions(const http::FieldList& request, std::string_view tag) {
  for (std::size_t i = 0; i < request.size(); ++i) {
    const std::string_view name = request.name(i);
    if ((name == "if-none-match" || name == "if-match") &&
        http::names_tag(request.value(i), tag, http::TagComparison::weak)) {
      return true;
    }
  }
  return false;
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
  selectable_ = form.status == 200 && context.conditions != nullptr && !form.is_open_ended();
  // An answer to HEAD was sketched without its body: its digest is not the representation's.
  if (sketch.has_value() && selectable_ && !context.answers_head) set_tag(*sketch);
  if (selectable_ && rules() != nullptr && rules()->compression) choose_coding();
  if (selectable_ && http::is_conditional(*context.conditions)) select_from(*context.conditions);
  // The length of the body that HEAD did not bring is one of its covered fields.
  if (form_ == nullptr) return;
  if (coding_ != http::ContentCoding::identity && status_ == 200) code(*sketch);
  if (form.is_open_ended()) return;
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
  if (status == 503 || status == 429) {
    const std::uint32_t seconds = context_.ruling != nullptr ? context_.ruling->retry_after_s : 1;
    fmt::format_to(std::back_inserter(retry_after_), "{}", seconds);
  }
  const OwnPage* page = context_.ruling != nullptr ? context_.ruling->page : nullptr;
  if (page == nullptr && rules() != nullptr) page = rules()->page_for(status, reason);
  std::string_view body;
  if (page != nullptr) {
    own_type_ = page->content_type;
    body = page->body;
  } else {
    fmt::format_to(std::back_inserter(text_), "{} {}: {}\n", status, http::reason_phrase(status),
                   reason);
    body = {text_.data(), text_.size()};
  }
  set_body(body);
  // The answer to HEAD says how long the body would be.
  if (length_.size() == 0) fmt::format_to(std::back_inserter(length_), "{}", body.size());
}

std::string_view Answer::ruled(std::string_view name, std::string_view value) const {
  const auto& rewrite = rules()->rewrite;
  if (!rewrite || (name != "location" && name != "content-location")) return value;
  auto restored = rewrite->restore(value, context_.ruling->scheme, context_.ruling->authority);
  if (!restored) return value;
  std::string& kept = name == "location" ? location_ : content_location_;
  kept = std::move(*restored);
  return kept;
}

void Answer::set_tag(const sketch::Sketch& sketch) {
  static constexpr char kDigits[] = "0123456789abcdef";
  tag_bytes_ = 2 * kTagBytes + 2;
  tag_.front() = tag_[tag_bytes_ - 1] = '"';
  for (std::size_t i = 0; i < kTagBytes; ++i) {
    tag_[1 + 2 * i] = kDigits[sketch[i] >> 4];
    tag_[2 + 2 * i] = kDigits[sketch[i] & 15];
  }
}

// Each coding is a representation of its own, so it has its own strong tag. A range is one of the
// plain body; and a client that has the plain one has it confirmed.
void Answer::choose_coding() {
  const CompressionRules& wanted = *rules()->compression;
  varies_ = may_be_coded(*form_, wanted);
  const std::size_t bytes = form_->body.size();
  const bool is_coded = varies_ && tag_bytes_ > 0 && context_.ruling->coded != nullptr &&
                        !form_->in_blocks() && bytes >= wanted.bytes_min &&
                        bytes <= wanted.bytes_max && !context_.conditions->find("range") &&
                        !wants_no_transformation(*context_.conditions) &&
                        !names_in_conditions(*context_.conditions, tag());
  if (!is_coded) return;
  coding_ = http::choose_coding(*context_.conditions, wanted.codings);
  if (coding_ == http::ContentCoding::identity) return;
  const std::string_view suffix = tag_suffix(coding_);
  static_assert(kTagSuffixBytes == 3);
  std::copy(suffix.begin(), suffix.end(),
            tag_.begin() + static_cast<std::ptrdiff_t>(tag_bytes_) - 1);
  tag_bytes_ += suffix.size();
  tag_[tag_bytes_ - 1] = '"';
}

void Answer::code(const sketch::Sketch& sketch) {
  coded_ = context_.ruling->coded->find_or_make(sketch, coding_, form_->body);
  if (coded_) {
    body_ = *coded_;
  } else {
    coding_ = http::ContentCoding::identity;
    set_tag(sketch);
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
