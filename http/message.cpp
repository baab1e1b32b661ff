#include "http/message.hpp"

#include <algorithm>
#include <array>

#include "base/assert.hpp"
#include "http/text.hpp"

namespace prophecy::http {
namespace {

void empty_body(std::string& body) {
  body.clear();
  if (body.capacity() > kKeptBodyBytesMax) std::string().swap(body);
}

}  // namespace

void FieldList::clear() {
  text_.clear();
  fields_.clear();
  open_ = {};
}

void FieldList::clear_and_shrink(std::size_t bytes_max) {
  clear();
  if (text_.capacity() > bytes_max) std::string().swap(text_);
  if (fields_.capacity() * sizeof(Field) > bytes_max) std::vector<Field>().swap(fields_);
}

void FieldList::add(std::string_view name, std::string_view value) {
  extend_name(name);
  extend_value(value);
  end_field();
}

void FieldList::extend_name(std::string_view piece) {
  ASSERT(open_value().empty());
  append_lower(text_, piece);
  open_.value_begin = offset();
}

void FieldList::extend_value(std::string_view piece) {
  text_.append(open_value().empty() ? trim_front(piece) : piece);
}

void FieldList::end_field() {
  text_.resize(open_.value_begin + trim(open_value()).size());
  open_.value_end = offset();
  fields_.push_back(open_);
  open_ = {offset(), offset(), offset()};
}

std::uint32_t FieldList::offset() const {
  ASSERT(text_.size() <= UINT32_MAX);
  return static_cast<std::uint32_t>(text_.size());
}

std::optional<std::string_view> FieldList::find(std::string_view wanted) const {
  for (std::size_t i = 0; i < size(); ++i) {
    if (name(i) == wanted) return value(i);
  }
  return std::nullopt;
}

std::size_t FieldList::count(std::string_view wanted) const {
  std::size_t result = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    if (name(i) == wanted) ++result;
  }
  return result;
}

void Request::clear() {
  method.clear();
  target.clear();
  version_minor = 1;
  keep_alive = true;
  fields.clear();
  empty_body(body);
  large_body.reset();
}

void Response::clear() {
  status = 0;
  version_minor = 1;
  keep_alive = true;
  fields.clear();
  empty_body(body);
}

bool nominates(const FieldList& fields, std::string_view name) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields.name(i) != "connection") continue;
    std::string_view rest = fields.value(i);
    std::string_view element;
    while (next_list_element(rest, element)) {
      if (equal_ignoring_case(element, name)) return true;
    }
  }
  return false;
}

bool is_safe_method(std::string_view method) {
  return is_read_method(method) || method == "OPTIONS" || method == "TRACE";
}

bool is_read_method(std::string_view method) {
  return method == "GET" || method == "HEAD";
}

bool is_idempotent_method(std::string_view method) {
  static constexpr std::array<std::string_view, 13> kIdempotent = {
      "GET",       "HEAD",  "OPTIONS", "TRACE", "PUT",    "DELETE", "PROPFIND",
      "PROPPATCH", "MKCOL", "COPY",    "MOVE",  "UNLOCK", "REPORT"};
  return std::find(kIdempotent.begin(), kIdempotent.end(), method) != kIdempotent.end();
}

}  // namespace prophecy::http
