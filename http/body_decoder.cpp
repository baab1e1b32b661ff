#include "http/body_decoder.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "http/text.hpp"

namespace prophecy::http {
namespace {

// No chunk is of 4 GiB; leading zeros count, or a peer could send them for ever.
constexpr std::size_t kChunkSizeDigitsMax = 8;
// Extensions and trailers of one message together. Nobody sends any for a purpose of ours.
constexpr std::size_t kDroppedBytesMax = 4096;

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void BodyDecoder::start(BodyFraming framing, std::uint64_t length, std::size_t body_bytes_max) {
  framing_ = framing;
  state_ = ChunkState::size_first;
  remaining_ = framing == BodyFraming::length ? length : 0;
  body_bytes_max_ = body_bytes_max;
  body_bytes_ = 0;
  size_digits_ = 0;
  dropped_bytes_ = 0;
  failure_ = {};
}

ParseProgress BodyDecoder::feed(std::string_view input, std::string& body) {
  switch (framing_) {
    case BodyFraming::none:
      return {ParseState::complete, 0};
    case BodyFraming::length:
    case BodyFraming::until_close:
      return feed_plain(input, body);
    case BodyFraming::chunked:
      return feed_chunked(input, body);
  }
  UNREACHABLE();
}

ParseProgress BodyDecoder::feed_plain(std::string_view input, std::string& body) {
  if (framing_ == BodyFraming::until_close) {
    if (input.size() > body_bytes_max_ - body_bytes_) {
      static_cast<void>(fail(413, "body too large"));
      return {ParseState::failed, 0};
    }
    body.append(input);
    body_bytes_ += input.size();
    return {ParseState::need_more, input.size()};
  }
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, input.size()));
  body.append(input.substr(0, size));
  remaining_ -= size;
  return {remaining_ == 0 ? ParseState::complete : ParseState::need_more, size};
}

ParseProgress BodyDecoder::feed_chunked(std::string_view input, std::string& body) {
  std::size_t consumed = 0;
  while (consumed < input.size() && state_ != ChunkState::done && state_ != ChunkState::failed) {
    if (state_ == ChunkState::data) {
      const auto size =
          static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, input.size() - consumed));
      body.append(input.substr(consumed, size));
      body_bytes_ += size;
      remaining_ -= size;
      consumed += size;
      if (remaining_ == 0) state_ = ChunkState::data_cr;
    } else {
      state_ = on_chunk_framing(input[consumed]);
      ++consumed;
    }
  }
  if (state_ == ChunkState::failed) return {ParseState::failed, consumed};
  return {state_ == ChunkState::done ? ParseState::complete : ParseState::need_more, consumed};
}

ParseState BodyDecoder::on_plain_bytes(std::size_t size) {
  ASSERT(size <= plain_bytes_left());
  remaining_ -= size;
  return remaining_ == 0 ? ParseState::complete : ParseState::need_more;
}

BodyDecoder::ChunkState BodyDecoder::on_chunk_framing(char c) {
  switch (state_) {
    case ChunkState::size_first:
      remaining_ = 0;
      size_digits_ = 0;
      if (hex_value(c) < 0) return fail(400, "chunk without a size");
      return on_size_digit(c);
    case ChunkState::size:
      if (c == '\r') return ChunkState::size_lf;
      if (c == ';') return on_dropped_byte(c);
      return on_size_digit(c);
    case ChunkState::extension_name_first:
    case ChunkState::extension_name:
    case ChunkState::extension_name_end:
    case ChunkState::extension_value_first:
    case ChunkState::extension_value:
    case ChunkState::extension_quoted:
    case ChunkState::extension_escaped:
    case ChunkState::extension_quoted_end:
    case ChunkState::extension_value_end:
    case ChunkState::trailer_first:
    case ChunkState::trailer_name:
    case ChunkState::trailer_value:
      return on_dropped_byte(c);
    case ChunkState::size_lf:
      if (c != '\n') return fail(400, "bare CR in a chunk's head");
      return remaining_ > 0 ? ChunkState::data : ChunkState::trailer_first;
    case ChunkState::data_cr:
      return c == '\r' ? ChunkState::data_lf : fail(400, "chunk longer than its size");
    case ChunkState::data_lf:
      return c == '\n' ? ChunkState::size_first : fail(400, "bare CR behind a chunk");
    case ChunkState::trailer_lf:
      return c == '\n' ? ChunkState::trailer_first : fail(400, "bare CR in a trailer");
    case ChunkState::last_lf:
      return c == '\n' ? ChunkState::done : fail(400, "bare CR behind the last chunk");
    case ChunkState::data:
    case ChunkState::done:
    case ChunkState::failed:
      break;
  }
  UNREACHABLE();
}

BodyDecoder::ChunkState BodyDecoder::on_size_digit(char c) {
  const int digit = hex_value(c);
  if (digit < 0) return fail(400, "invalid chunk size");
  if (++size_digits_ > kChunkSizeDigitsMax) return fail(400, "chunk size has too many digits");
  remaining_ = remaining_ * 16 + static_cast<std::uint64_t>(digit);
  if (remaining_ > body_bytes_max_ - body_bytes_) return fail(413, "body too large");
  return ChunkState::size;
}

BodyDecoder::ChunkState BodyDecoder::on_dropped_byte(char c) {
  if (c != '\r' && ++dropped_bytes_ > kDroppedBytesMax) {
    return fail(400, "chunk extensions or trailers too long");
  }
  const auto byte = static_cast<unsigned char>(c);
  if ((byte < 0x20 && c != '\t' && c != '\r') || byte == 0x7f) {
    return fail(400, "control byte in a chunk extension or trailer");
  }
  const bool of_trailer = state_ == ChunkState::trailer_first ||
                          state_ == ChunkState::trailer_name || state_ == ChunkState::trailer_value;
  return of_trailer ? on_trailer(c) : on_extension(c);
}

// chunk-ext = *( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] ) (RFC 9112, 7.1.1), but
// for the white space in front of the first. No control bytes but HTAB and CR come here.
BodyDecoder::ChunkState BodyDecoder::on_extension(char c) {
  using enum ChunkState;
  const bool is_space = c == ' ' || c == '\t';
  switch (state_) {
    case size:
      return extension_name_first;
    case extension_name_first:
      if (is_space) return extension_name_first;
      if (is_token_char(c)) return extension_name;
      break;
    case extension_name:
      if (is_token_char(c)) return extension_name;
      [[fallthrough]];
    case extension_name_end:
      if (c == '=') return extension_value_first;
      if (c == ';') return extension_name_first;
      if (is_space) return extension_name_end;
      if (c == '\r' && state_ == extension_name) return size_lf;
      break;
    case extension_value_first:
      if (is_space) return extension_value_first;
      if (c == '"') return extension_quoted;
      if (is_token_char(c)) return extension_value;
      break;
    case extension_quoted:
      if (c == '"') return extension_quoted_end;
      if (c == '\\') return extension_escaped;
      if (c != '\r') return extension_quoted;
      break;
    case extension_escaped:
      if (c != '\r') return extension_quoted;
      break;
    case extension_value:
      if (is_token_char(c)) return extension_value;
      [[fallthrough]];
    case extension_quoted_end:
      if (c == '\r') return size_lf;
      [[fallthrough]];
    case extension_value_end:
      if (c == ';') return extension_name_first;
      if (is_space) return extension_value_end;
      break;
    default:
      UNREACHABLE();
  }
  return fail(400, "invalid chunk extension");
}

// trailer-section = *( field-line CRLF ) (RFC 9112, 7.1.2).
BodyDecoder::ChunkState BodyDecoder::on_trailer(char c) {
  using enum ChunkState;
  switch (state_) {
    case trailer_first:
      if (c == '\r') return last_lf;
      if (c == ' ' || c == '\t') return fail(400, "folded trailer");
      return is_token_char(c) ? trailer_name : fail(400, "invalid trailer");
    case trailer_name:
      if (c == ':') return trailer_value;
      return is_token_char(c) ? trailer_name : fail(400, "invalid trailer");
    case trailer_value:
      return c == '\r' ? trailer_lf : trailer_value;
    default:
      UNREACHABLE();
  }
}

BodyDecoder::ChunkState BodyDecoder::fail(std::uint16_t status, std::string_view reason) {
  failure_ = {status, reason};
  return ChunkState::failed;
}

}  // namespace prophecy::http
