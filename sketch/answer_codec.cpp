#include "http/text.hpp"
#include "sketch/answer_form.hpp"

namespace prophecy::sketch {
namespace {

constexpr std::uint16_t kStatusMin = 200;
constexpr std::uint16_t kStatusMax = 599;

bool is_canonical_name(std::string_view name) {
  if (!http::is_token(name)) return false;
  for (const char c : name) {
    if (http::to_lower(c) != c) return false;
  }
  return true;
}

// Whether `head` is what AnswerCanonicalizer writes: a status, then fields in lower case, sorted,
// of which only Set-Cookie repeats.
bool is_canonical_head(ByteView head) {
  Reader reader(head);
  const auto status = reader.integer<std::uint16_t>();
  if (status < kStatusMin || status > kStatusMax) return false;
  std::string_view previous;
  while (reader.remaining() > 0) {
    const std::string_view name = as_text(reader.sized(kAnswerHeadBytesMax));
    const std::string_view value = as_text(reader.sized(kAnswerHeadBytesMax));
    if (reader.failed() || !is_canonical_name(name)) return false;
    if (!http::is_field_value(value) || http::trim(value) != value) return false;
    const bool repeats = name == previous && name == "set-cookie";
    if (name <= previous && !repeats) return false;
    previous = name;
  }
  return reader.complete();
}

}  // namespace

Bytes encode(const AnswerForm& form) {
  Bytes encoded;
  encoded.reserve(8 + form.head.size() + form.body.size());
  Writer writer(encoded);
  writer.sized(form.head);
  writer.sized(as_bytes(form.body));
  return encoded;
}

Result<AnswerForm> decode(ByteView encoded) {
  Reader reader(encoded);
  AnswerForm form;
  form.head = reader.sized(kAnswerHeadBytesMax);
  form.body = as_text(reader.sized(kAnswerBodyBytesMax));
  if (!reader.complete() || !is_canonical_head(form.head)) {
    return Error{ErrorKind::protocol, "not an answer in canonical form"};
  }
  form.status = Reader(form.head).integer<std::uint16_t>();
  return form;
}

}  // namespace prophecy::sketch
