#include "sketcher/answer/content_encoder.hpp"

#include <limits>

#include <brotli/encode.h>
#include <zlib.h>
#include <zstd.h>

#include "base/assert.hpp"

namespace prophecy::sketcher {
namespace {

// A few milliseconds for the largest bodies that are coded.
constexpr int kGzipLevel = 5;
constexpr int kBrotliQuality = 4;
constexpr int kZstdLevel = 3;
constexpr int kGzipWindow = 15 + 16;  // with gzip's header and trailer
constexpr int kGzipMemory = 8;

bool encode_gzip(std::string_view body, std::string& out) {
  z_stream stream{};
  if (::deflateInit2(&stream, kGzipLevel, Z_DEFLATED, kGzipWindow, kGzipMemory,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
    return false;
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool is_whole = ::deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return is_whole;
}

bool encode_brotli(std::string_view body, std::string& out) {
  std::size_t size = out.size();
  const bool is_whole =
      ::BrotliEncoderCompress(kBrotliQuality, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_TEXT, body.size(),
                              reinterpret_cast<const std::uint8_t*>(body.data()), &size,
                              reinterpret_cast<std::uint8_t*>(out.data())) == BROTLI_TRUE;
  out.resize(is_whole ? size : 0);
  return is_whole;
}

bool encode_zstd(std::string_view body, std::string& out) {
  const std::size_t size =
      ::ZSTD_compress(out.data(), out.size(), body.data(), body.size(), kZstdLevel);
  const bool is_whole = ::ZSTD_isError(size) == 0;
  out.resize(is_whole ? size : 0);
  return is_whole;
}

bool encode_into(http::ContentCoding coding, std::string_view body, std::string& out) {
  switch (coding) {
    case http::ContentCoding::gzip:
      return encode_gzip(body, out);
    case http::ContentCoding::brotli:
      return encode_brotli(body, out);
    case http::ContentCoding::zstd:
      return encode_zstd(body, out);
    case http::ContentCoding::identity:
      break;
  }
  UNREACHABLE();
}

}  // namespace

std::optional<std::string> encode(http::ContentCoding coding, std::string_view body,
                                  std::size_t size_max) {
  ASSERT(body.size() <= std::numeric_limits<uInt>::max());
  std::string out(size_max, '\0');
  if (!encode_into(coding, body, out)) return std::nullopt;
  out.shrink_to_fit();
  return out;
}

}  // namespace prophecy::sketcher
