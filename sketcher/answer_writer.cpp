#include "sketcher/answer_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/bytes.hpp"

namespace prophecy::sketcher {
namespace {

struct Phrase {
  std::uint16_t status;
  std::string_view text;
};

constexpr Phrase kPhrases[] = {
    {200, "OK"}, {201, "Created"}, {202, "Accepted"}, {203, "Non-Authoritative Information"},
    {204, "No Content"}, {205, "Reset Content"}, {206, "Partial Content"}, {207, "Multi-Status"},
    {300, "Multiple Choices"}, {301, "Moved Permanently"}, {302, "Found"}, {303, "See Other"},
    {304, "Not Modified"}, {307, "Temporary Redirect"}, {308, "Permanent Redirect"},
    {400, "Bad Request"}, {401, "Unauthorized"}, {403, "Forbidden"}, {404, "Not Found"},
    {405, "Method Not Allowed"}, {406, "Not Acceptable"}, {408, "Request Timeout"},
    {409, "Conflict"}, {410, "Gone"}, {411, "Length Required"}, {412, "Precondition Failed"},
    {413, "Content Too Large"}, {414, "URI Too Long"}, {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"}, {417, "Expectation Failed"}, {421, "Misdirected Request"},
    {422, "Unprocessable Content"}, {423, "Locked"}, {424, "Failed Dependency"},
    {425, "Too Early"}, {426, "Upgrade Required"}, {428, "Precondition Required"},
    {429, "Too Many Requests"}, {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"}, {501, "Not Implemented"}, {502, "Bad Gateway"},
    {503, "Service Unavailable"}, {504, "Gateway Timeout"}, {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"}};

void append_number(std::string& out, std::size_t number) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

void append_status_line(std::string& out, std::uint16_t status) {
  out += "HTTP/1.1 ";
  append_number(out, status);
  out += ' ';
  out += reason_phrase(status);
  out += "\r\n";
}

// The fields that every answer carries, and the empty line.
void append_tail(std::string& out, const AnswerFraming& framing) {
  out += "date: ";
  out += framing.date;
  out += "\r\nserver: prophecy\r\nvia: 1.1 prophecy\r\n";
  if (!framing.keep_alive) {
    out += "connection: close\r\n";
  } else if (framing.version_minor == 0) {
    out += "connection: keep-alive\r\n";
  }
  out += "\r\n";
}

void append_content_length(std::string& out, std::size_t size) {
  out += "content-length: ";
  append_number(out, size);
  out += "\r\n";
}

bool has_no_content(std::uint16_t status) { return status == 204 || status == 304; }

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

std::string_view reason_phrase(std::uint16_t status) {
  const auto* found = std::lower_bound(
      std::begin(kPhrases), std::end(kPhrases), status,
      [](const Phrase& phrase, std::uint16_t wanted) { return phrase.status < wanted; });
  return found != std::end(kPhrases) && found->status == status ? found->text : "";
}

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

  append_status_line(out, status);
  sketch::AnswerFields fields(form);
  std::string_view name;
  std::string_view value;
  while (fields.next(name, value)) {
    if (not_modified && !stays_in_not_modified(name)) continue;
    out += name;
    out += ": ";
    out += value;
    out += "\r\n";
  }
  if (tagged) {
    out += "etag: ";
    out += tag_text;
    out += "\r\n";
  }
  // The length of the body that HEAD did not bring is one of its covered fields.
  if (!framing.answers_head && !has_no_content(status)) append_content_length(out, form.body.size());
  append_tail(out, framing);
  if (!framing.answers_head && !has_no_content(status)) out += form.body;
}

void append_error(std::string& out, std::uint16_t status, std::string_view reason,
                  const AnswerFraming& framing) {
  std::string body = std::to_string(status) + " " + std::string(reason_phrase(status)) + ": " +
                     std::string(reason) + "\n";
  append_status_line(out, status);
  out += "content-type: text/plain\r\ncache-control: no-store\r\nprophecy-reason: ";
  out += reason;
  out += "\r\n";
  if (status == 503) out += "retry-after: 1\r\n";
  append_content_length(out, body.size());
  append_tail(out, framing);
  if (!framing.answers_head) out += body;
}

}  // namespace prophecy::sketcher
