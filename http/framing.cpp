#include "http/framing.hpp"

#include "http/text.hpp"

namespace prophecy::http {
namespace {

Framing refuse(std::uint16_t status, std::string_view reason) {
  Framing framing;
  framing.failure = {status, reason};
  return framing;
}

}  // namespace

Framing framing_of(const FieldList& fields, std::uint8_t version_minor, BodyFraming otherwise) {
  std::size_t lengths = 0;
  std::size_t encodings = 0;
  std::string_view length_text;
  std::string_view encoding;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string_view name = fields.name(i);
    if (name == "content-length") {
      ++lengths;
      length_text = fields.value(i);
    } else if (name == "transfer-encoding") {
      ++encodings;
      encoding = fields.value(i);
    }
  }
  if (lengths > 0 && encodings > 0) return refuse(400, "Content-Length beside Transfer-Encoding");
  if (lengths > 1) return refuse(400, "Content-Length is repeated");
  if (encodings > 0) {
    if (version_minor == 0) return refuse(400, "Transfer-Encoding in HTTP/1.0");
    if (encodings > 1 || !equal_ignoring_case(encoding, "chunked")) {
      return refuse(501, "Transfer-Encoding is not chunked");
    }
    return {BodyFraming::chunked, 0, {}};
  }
  if (lengths == 1) {
    std::uint64_t length = 0;
    if (!parse_decimal(length_text, length)) return refuse(400, "Content-Length is not a number");
    return {BodyFraming::length, length, {}};
  }
  return {otherwise, 0, {}};
}

bool asks_to_keep_alive(const FieldList& fields, std::uint8_t version_minor) {
  bool keep_alive_seen = false;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields.name(i) != "connection") continue;
    std::string_view rest = fields.value(i);
    std::string_view option;
    while (next_list_element(rest, option)) {
      if (equal_ignoring_case(option, "close")) return false;
      if (equal_ignoring_case(option, "keep-alive")) keep_alive_seen = true;
    }
  }
  return version_minor >= 1 || keep_alive_seen;
}

}  // namespace prophecy::http
