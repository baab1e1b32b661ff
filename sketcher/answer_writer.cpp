#include "sketcher/answer_writer.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "http/selection.hpp"
#include "http/writer.hpp"

namespace prophecy::sketcher {
namespace {

// The fields that every answer carries, and the empty line.
void append_tail(std::string& out, const AnswerFraming& framing) {
  http::append_field(out, "date", framing.date);
  out += "server: prophecy\r\nvia: 1.1 prophecy\r\n";
  if (!framing.keep_alive) {
    out += "connection: close\r\n";
  } else if (framing.version_minor == 0) {
    out += "connection: keep-alive\r\n";
  }
  http::end_head(out);
}

bool has_no_content(std::uint16_t status) {
  return status == 204 || status == 304;
}

// Half of the sketch is enough to tell representations apart, and keeps the other half secret.
constexpr std::size_t kTagBytes = 10;
using Tag = std::array<char, 2 * kTagBytes + 2>;

Tag make_tag(const sketch::Sketch& sketch) {
  static constexpr char kDigits[] = "0123456789abcdef";
  Tag tag;
  tag.front() = tag.back() = '"';
  for (std::size_t i = 0; i < kTagBytes; ++i) {
    tag[1 + 2 * i] = kDigits[sketch[i] >> 4];
    tag[2 + 2 * i] = kDigits[sketch[i] & 15];
  }
  return tag;
}

using SelectionKind = http::Selection::Kind;

std::string_view field_of(const sketch::AnswerForm& form, std::string_view wanted) {
  sketch::AnswerFields fields(form);
  std::string_view name;
  std::string_view value;
  while (fields.next(name, value)) {
    if (name == wanted) return value;
  }
  return {};
}

void append_content_range(std::string& out, const http::Selection& part, std::uint64_t length) {
  fmt::format_to(std::back_inserter(out), "content-range: bytes {}-{}/{}\r\n", part.first,
                 part.first + part.size - 1, length);
}

// The fields that a 304 repeats (RFC 9110, 15.4.5).
bool stays_in_not_modified(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "cache-control", "content-location", "expires", "last-modified", "vary", "set-cookie"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// An answer of our own. `field` is one more line of the head, or empty.
void append_own(std::string& out, std::uint16_t status, std::string_view reason,
                std::string_view field, const AnswerFraming& framing) {
  const std::string body = fmt::format("{} {}: {}\n", status, http::reason_phrase(status), reason);
  http::append_status_line(out, status);
  fmt::format_to(std::back_inserter(out),
                 "content-type: text/plain\r\ncache-control: no-store\r\n"
                 "prophecy-reason: {}\r\n{}",
                 reason, field);
  http::append_content_length(out, body.size());
  append_tail(out, framing);
  if (!framing.answers_head) out += body;
}

}  // namespace

void append_answer(std::string& out, const sketch::AnswerForm& form,
                   const std::optional<sketch::Sketch>& sketch, const AnswerFraming& framing) {
  const bool selectable = form.status == 200 && framing.conditions != nullptr;
  // An answer to HEAD was sketched without its body: its digest is not the representation's.
  const bool tagged = sketch.has_value() && selectable && !framing.answers_head;
  const Tag tag = tagged ? make_tag(*sketch) : Tag{};
  const std::string_view tag_text{tag.data(), tagged ? tag.size() : 0};
  http::Selection selection;
  if (selectable && http::is_conditional(*framing.conditions)) {
    selection = http::select(*framing.conditions, framing.answers_head,
                             {.etag = tag_text,
                              .last_modified = field_of(form, "last-modified"),
                              .length = form.body.size()});
  }
  if (selection.kind == SelectionKind::failed) {
    return append_error(out, 412, "precondition-failed", framing);
  }
  if (selection.kind == SelectionKind::unsatisfiable) {
    const std::string length = fmt::format("content-range: bytes */{}\r\n", form.body.size());
    return append_own(out, 416, "range-not-satisfiable", length, framing);
  }
  const bool not_modified = selection.kind == SelectionKind::not_modified;
  const bool is_part = selection.kind == SelectionKind::part;
  const std::uint16_t status = not_modified ? 304 : is_part ? 206 : form.status;
  const std::string_view body =
      is_part ? form.body.substr(selection.first, selection.size) : form.body;

  http::append_status_line(out, status);
  sketch::AnswerFields fields(form);
  std::string_view name;
  std::string_view value;
  while (fields.next(name, value)) {
    if (not_modified && !stays_in_not_modified(name)) continue;
    if (selectable && name == "content-range")
      continue;  // means nothing in a 200, and is ours in a 206
    http::append_field(out, name, value);
  }
  if (tagged) http::append_field(out, "etag", tag_text);
  if (selectable && !not_modified) http::append_field(out, "accept-ranges", "bytes");
  if (is_part) append_content_range(out, selection, form.body.size());
  // The length of the body that HEAD did not bring is one of its covered fields.
  const bool has_body = !framing.answers_head && !has_no_content(status);
  if (has_body) http::append_content_length(out, body.size());
  append_tail(out, framing);
  if (has_body) out += body;
}

void append_error(std::string& out, std::uint16_t status, std::string_view reason,
                  const AnswerFraming& framing) {
  const std::string_view field = status == 503   ? "retry-after: 1\r\n"
                                 : status == 405 ? "allow: GET, HEAD\r\n"
                                                 : "";
  append_own(out, status, reason, field, framing);
}

}  // namespace prophecy::sketcher
