// What a client is answered, before a protocol writes it down: status, fields, body. Made of a
// verified form, by ourselves, or by the member of the ring that owns the request; no byte of an
// origin's is passed through. What the request makes
// a 200 depend on, and the part of it that it asks for, are seen to here.
//
// Views into the form, the sketch's request and `date`, which all have to outlive it. Not movable:
// some views are into the object itself. What it hands out as a field stays as long as it does: a
// protocol may keep the view, and write it down later.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "canonical/answer_form.hpp"
#include "http/http_date.hpp"
#include "http/message.hpp"
#include "sketch/sketch_value.hpp"
#include "sketcher/answer/answer_rules.hpp"

namespace prophecy::sketcher {

// What of the request the answer depends on.
struct AnswerContext {
  bool answers_head = false;
  const http::FieldList* conditions = nullptr;  // the request's fields; null: it is no read
  std::string_view date;                        // IMF-fixdate
  std::string_view via = "1.1 prophecy";
  // Of its route; null: none.
  const AnswerRuling* ruling = nullptr;
};

// With what members of a ring tell each other of an answer; no client sees it.
constexpr std::string_view kMemberField = "prophecy-member";
[[nodiscard]] inline bool is_of_members(std::string_view name) {
  return name == kMemberField;
}

// For AnswerContext::conditions, wherever an answer to this request is made.
[[nodiscard]] const http::FieldList* conditions_of(const http::Request& request);

class Answer {
 public:
  // With a sketch, the 200 that answers a GET carries it as its strong ETag.
  Answer(const sketch::AnswerForm& form, const std::optional<sketch::Sketch>& sketch,
         const AnswerContext& context);
  // An answer of our own, with `reason` in the field prophecy-reason and in the body.
  Answer(std::uint16_t status, std::string_view reason, const AnswerContext& context);
  // Another member's, passed on as it is. Its body is whole in it, or follows in pieces, `size`
  // bytes.
  Answer(const http::Response& passed, std::uint64_t size, const AnswerContext& context);
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  [[nodiscard]] std::uint16_t status() const { return status_; }
  [[nodiscard]] std::string_view body() const { return body_; }
  [[nodiscard]] bool is_own() const { return form_ == nullptr && passed_ == nullptr; }
  // And not in this object, as one of our own.
  [[nodiscard]] bool body_is_in(const std::string& storage) const {
    return form_ != nullptr && !coded_ && form_->body.data() == storage.data();
  }
  // Of an answer in blocks, whose body() is empty: what of the form's body has to follow the head.
  [[nodiscard]] std::uint64_t first() const { return first_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // Nobody knows how long it is: size() is sketch::kOpenEnded.
  [[nodiscard]] bool is_open_ended() const { return form_ != nullptr && form_->is_open_ended(); }

  // take(name, value) for each field in order; names are in lower case. Nothing of the protocol's:
  // what a connection is told is its session's to add.
  template <class Take>
  void for_each_field(Take take) const;

 private:
  // Half of the sketch is enough to tell representations apart, and keeps the other half secret.
  static constexpr std::size_t kTagBytes = 10;
  // Behind it, of a coding.
  static constexpr std::size_t kTagSuffixBytes = 3;

  void select_from(const http::FieldList& conditions);
  void become_own(std::uint16_t status, std::string_view reason);
  void set_tag(const sketch::Sketch& sketch);
  // By its route's rules for compression.
  void choose_coding();
  void code(const sketch::Sketch& sketch);
  void set_body(std::string_view body);
  void set_length(std::uint64_t length);
  [[nodiscard]] std::string_view tag() const { return {tag_.data(), tag_bytes_}; }
  // In place of one that was taken out beside max-age: the date and max-age.
  [[nodiscard]] std::string_view expires() const;
  // Of the form.
  [[nodiscard]] bool is_delivered(std::string_view name) const;
  [[nodiscard]] const AnswerRules* rules() const {
    return context_.ruling != nullptr ? context_.ruling->rules : nullptr;
  }
  // The value that clients get: of a reference to a rewritten path, another one.
  [[nodiscard]] std::string_view ruled(std::string_view name, std::string_view value) const;
  template <class Take>
  void for_each_own_field(Take take) const;

  const AnswerContext& context_;
  const sketch::AnswerForm* form_ = nullptr;  // null: our own, or
  const http::Response* passed_ = nullptr;    // another member's
  std::uint16_t status_ = 0;
  std::string_view reason_;
  std::string_view own_type_ = "text/plain";
  std::string_view body_;
  std::uint64_t first_ = 0;
  std::uint64_t size_ = 0;
  bool selectable_ = false;    // a 200 that answers a read
  std::size_t tag_bytes_ = 0;  // 0: it has none
  std::array<char, 2 * kTagBytes + 2 + kTagSuffixBytes> tag_;
  bool varies_ = false;  // by Accept-Encoding
  http::ContentCoding coding_ = http::ContentCoding::identity;
  CodedBodies::Body coded_;                           // the body, in that coding
  mutable http::HttpDateText expires_;                // once it was asked for
  mutable std::string location_;                      // likewise
  mutable std::string content_location_;              // likewise
  fmt::basic_memory_buffer<char, 24> length_;         // empty: there is no body
  fmt::basic_memory_buffer<char, 16> retry_after_;    // empty: nothing is said of that
  fmt::basic_memory_buffer<char, 64> content_range_;  // empty: none
  fmt::basic_memory_buffer<char, 128> text_;          // our own body
};

template <class Take>
void Answer::for_each_field(Take take) const {
  if (passed_ != nullptr) {
    const http::FieldList& fields = passed_->fields;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (!is_of_members(fields.name(i))) take(fields.name(i), fields.value(i));
    }
    return;
  }
  const auto text = [](const auto& buffer) {
    return std::string_view(buffer.data(), buffer.size());
  };
  const AnswerRules* const rules = this->rules();
  if (form_ != nullptr) {
    sketch::AnswerFields fields(*form_);
    std::string_view name;
    std::string_view value;
    while (fields.next(name, value)) {
      if (rules != nullptr && rules->takes_out(name)) continue;
      if (name == "expires" && value.empty()) {
        take(name, expires());
      } else if (is_delivered(name)) {
        take(name, rules != nullptr ? ruled(name, value) : value);
      }
    }
    if (tag_bytes_ > 0) take("etag", tag());
    if (varies_) take("vary", "accept-encoding");
    if (coded_) take("content-encoding", http::to_string(coding_));
    if (selectable_ && status_ != 304) take("accept-ranges", "bytes");
  } else {
    for_each_own_field(take);
  }
  if (rules != nullptr) {
    for (const sketch::ConfiguredField& field : rules->added()) {
      if (form_ != nullptr || !is_own_answers(field.name)) take(field.name, field.value);
    }
  }
  if (content_range_.size() > 0) take("content-range", text(content_range_));
  if (length_.size() > 0) take("content-length", text(length_));
  take("date", context_.date);
  take("server", "prophecy");
  take("via", context_.via);
}

template <class Take>
void Answer::for_each_own_field(Take take) const {
  take("content-type", own_type_);
  const bool is_redirect = status_ >= 300 && status_ < 400;
  // A redirect may be remembered for as long as its status says.
  if (!is_redirect) take("cache-control", "no-store");
  take("prophecy-reason", reason_);
  if (is_redirect && context_.ruling != nullptr) take("location", context_.ruling->location);
  if (retry_after_.size() > 0)
    take("retry-after", std::string_view(retry_after_.data(), retry_after_.size()));
  if (status_ == 405) take("allow", "GET, HEAD, OPTIONS");
}

}  // namespace prophecy::sketcher
