#include "canonical/answer_form.hpp"
#include "http/text.hpp"

namespace prophecy::sketch {
namespace {

constexpr std::uint16_t kStatusMin = 200;
constexpr std::uint16_t kStatusMax = 599;

// In the place of a head's length, which is never as large: a head and a list follow.
constexpr std::uint32_t kInBlocks = UINT32_MAX;
static_assert(kAnswerHeadBytesMax < kInBlocks);

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
  Writer writer(encoded);
  if (form.in_blocks()) {
    encoded.reserve(20 + form.head.size() + form.blocks.digests.size());
    writer.integer(kInBlocks);
    writer.sized(form.head);
    writer.integer(form.blocks.length);
    writer.integer(form.blocks.block_bytes);
    writer.raw(form.blocks.digests);
    return encoded;
  }
  encoded.reserve(8 + form.head.size() + form.body.size());
  writer.sized(form.head);
  writer.sized(as_bytes(form.body));
  return encoded;
}

Result<AnswerForm> decode(ByteView encoded) {
  Reader reader(encoded);
  AnswerForm form;
  const bool in_blocks = Reader(encoded).integer<std::uint32_t>() == kInBlocks;
  if (in_blocks) static_cast<void>(reader.integer<std::uint32_t>());
  form.head = reader.sized(kAnswerHeadBytesMax);
  if (in_blocks) {
    form.blocks.length = reader.integer<std::uint64_t>();
    form.blocks.block_bytes = reader.integer<std::uint32_t>();
    form.blocks.digests = reader.raw(reader.remaining());
  } else {
    form.body = as_text(reader.sized(kAnswerBodyBytesMax));
  }
  const Error mistake{ErrorKind::protocol, "not an answer in canonical form"};
  if (!reader.complete() || !is_canonical_head(form.head)) return mistake;
  form.status = Reader(form.head).integer<std::uint16_t>();
  if (in_blocks && !(form.status == kStatusInBlocks && is_valid(form.blocks))) return mistake;
  return form;
}

}  // namespace prophecy::sketch
