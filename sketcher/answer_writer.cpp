#include "sketcher/answer_writer.hpp"

#include <algorithm>
#include <array>

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

// The fields that a 304 repeats (RFC 9110, 15.4.5).
bool stays_in_not_modified(std::string_view name) {
  static constexpr std::string_view kNames[] = {"cache-control", "content-location", "expires",
                                                "vary", "set-cookie"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace

bool etag_matches(std::string_view list, std::string_view tag) {
  while (!list.empty()) {
    const std::size_t start = list.find_first_not_of(" \t,");
    if (start == std::string_view::npos) return false;
    list.remove_prefix(start);
    if (list.front() == '*') return true;
    if (list.starts_with("W/")) list.remove_prefix(2);
    if (list.starts_with(tag)) return true;
    // A tag may hold a comma: skip to behind its closing quote.
    const std::size_t close = list.starts_with('"') ? list.find('"', 1) : list.find(',');
    if (close == std::string_view::npos) return false;
    list.remove_prefix(close + 1);
  }
  return false;
}

void append_answer(std::string& out, const sketch::AnswerForm& form,
                   const std::optional<sketch::Sketch>& sketch, const AnswerFraming& framing) {
  // An answer to HEAD was sketched without its body: its digest is not the representation's.
  const bool tagged = sketch.has_value() && form.status == 200 && !framing.answers_head;
  const Tag tag = tagged ? make_tag(*sketch) : Tag{};
  const std::string_view tag_text{tag.data(), tag.size()};
  const bool not_modified =
      tagged && !framing.if_none_match.empty() && etag_matches(framing.if_none_match, tag_text);
  const std::uint16_t status = not_modified ? 304 : form.status;

  http::append_status_line(out, status);
  sketch::AnswerFields fields(form);
  std::string_view name;
  std::string_view value;
  while (fields.next(name, value)) {
    if (not_modified && !stays_in_not_modified(name)) continue;
    http::append_field(out, name, value);
  }
  if (tagged) {
    http::append_field(out, "etag", tag_text);
  }
  // The length of the body that HEAD did not bring is one of its covered fields.
  if (!framing.answers_head && !has_no_content(status))
    http::append_content_length(out, form.body.size());
  append_tail(out, framing);
  if (!framing.answers_head && !has_no_content(status)) out += form.body;
}

void append_error(std::string& out, std::uint16_t status, std::string_view reason,
                  const AnswerFraming& framing) {
  std::string body = std::to_string(status) + " " + std::string(http::reason_phrase(status)) +
                     ": " + std::string(reason) + "\n";
  http::append_status_line(out, status);
  out += "content-type: text/plain\r\ncache-control: no-store\r\nprophecy-reason: ";
  out += reason;
  out += "\r\n";
  if (status == 503) out += "retry-after: 1\r\n";
  http::append_content_length(out, body.size());
  append_tail(out, framing);
  if (!framing.answers_head) out += body;
}

}  // namespace prophecy::sketcher
