#include "canonical/answer_form.hpp"

#include "canonical/field_order.hpp"
#include "canonical/origin_authorities.hpp"
#include "http/cache_control.hpp"
#include "http/http_date.hpp"
#include "http/text.hpp"

namespace prophecy::sketch {
AnswerCanonicalizer::AnswerCanonicalizer(const Profile& profile, FieldCounters counters)
    : profile_(profile), counters_(counters) {}

AnswerFault AnswerCanonicalizer::canonicalize(const http::Response& response, bool answers_head,
                                              AnswerForm& form) {
  forget_leak();
  if (response.body.size() > kAnswerBodyBytesMax) return AnswerFault::too_large;
  if (const AnswerFault fault = take_fields(response, answers_head); fault != AnswerFault::none) {
    return fault;
  }
  write_head(response);
  if (head_.size() > kAnswerHeadBytesMax) return AnswerFault::too_large;
  form = {response.status, head_, response.body};
  return AnswerFault::none;
}

AnswerFault AnswerCanonicalizer::take_fields(const http::Response& response, bool answers_head) {
  const http::FieldList& fields = response.fields;
  if (!nominated_.read(fields)) return AnswerFault::nominated_field;
  for (std::size_t i = 0; i < nominated_.size(); ++i) {
    if (!profile_.may_nominate_in_answer(nominated_.name(i))) return AnswerFault::nominated_field;
  }
  covered_.clear();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string_view name = fields.name(i);
    const auto [rule, number] = profile_.numbered_answer_rule(name);
    // The length in an answer to HEAD is delivered: there is no body that it could be counted from.
    const bool length_of_unseen_body = answers_head && name == "content-length";
    const bool covered = rule == AnswerRule::covered || length_of_unseen_body;
    if (covered && !nominated_.contains(name)) {
      covered_.push_back(i);
      continue;
    }
    if (rule == AnswerRule::internal && leaked_.empty()) leaked_ = name;
    counters_.on_answer_field(number, name);
  }
  sort_by_name(fields, covered_);
  return AnswerFault::none;
}

void AnswerCanonicalizer::write_head(const http::Response& response) {
  const http::FieldList& fields = response.fields;
  head_.clear();
  Writer writer(head_);
  writer.integer(response.status);
  // Cache-Control, which comes before Expires, says by itself how long the answer stays fresh.
  bool has_max_age = false;
  for (std::size_t i = 0; i < covered_.size();) {
    const std::string_view name = fields.name(covered_[i]);
    joined_.assign(fields.value(covered_[i]));
    ++i;
    if (name == "location" || name == "content-location") {
      strip_origin(joined_, profile_.origin_authorities());
    } else if (name == "last-modified") {
      clamp_last_modified(joined_);
    }
    // Set-Cookie is the one field whose repeats may not be joined (RFC 9110, 5.3).
    for (; name != "set-cookie" && i < covered_.size() && fields.name(covered_[i]) == name; ++i) {
      append_list_part(joined_, ", ", fields.value(covered_[i]));
    }
    if (name == "cache-control") has_max_age = http::max_age(joined_).has_value();
    // Off by a second between two origins, and says what max-age says already.
    if (name == "expires" && has_max_age) joined_.clear();
    writer.sized(as_bytes(name));
    writer.sized(as_bytes(joined_));
  }
}

void AnswerCanonicalizer::clamp_last_modified(std::string& value) const {
  const auto& clamp = profile_.last_modified_max();
  if (!clamp) return;
  const auto date = http::parse_http_date(value);
  if (date && *date > clamp->time) value.assign(clamp->text);
}

AnswerFields::AnswerFields(const AnswerForm& form) : reader_(form.head) {
  static_cast<void>(reader_.integer<std::uint16_t>());
}

bool AnswerFields::next(std::string_view& name, std::string_view& value) {
  if (reader_.remaining() == 0) return false;
  name = as_text(reader_.sized(kAnswerHeadBytesMax));
  value = as_text(reader_.sized(kAnswerHeadBytesMax));
  return !reader_.failed();
}

bool is_transient_status(std::uint16_t status) {
  return status >= 500 || status == 408 || status == 425 || status == 429;
}

bool has_sketchable_status(const AnswerForm& form) {
  if (is_transient_status(form.status)) return false;
  for (const int status : {206, 304, 412, 416}) {
    if (form.status == status) return false;
  }
  return true;
}

bool is_for_one_request(const AnswerForm& form, const Profile& profile) {
  AnswerFields fields(form);
  std::string_view name;
  std::string_view value;
  std::string lowered;
  while (fields.next(name, value)) {
    if (name == "set-cookie" && !profile.remembers_cookies()) return true;
    if (name != "vary") continue;
    std::string_view element;
    while (http::next_list_element(value, element)) {
      lowered.clear();
      http::append_lower(lowered, element);
      if (lowered == "*" || profile.is_seen_unkeyed(lowered)) return true;
    }
  }
  return false;
}

bool may_be_sketched(const AnswerForm& form, const Profile& profile) {
  return has_sketchable_status(form) && !is_for_one_request(form, profile);
}

}  // namespace prophecy::sketch
