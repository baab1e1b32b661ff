// Compressed bytes for tests of what expands them.
#pragma once

#include <string>
#include <string_view>

#include <zlib.h>

namespace prophecy::measurement {

// In zlib's terms: 15 for its own format, -15 for raw deflate, 31 for gzip.
inline std::string deflated(std::string_view text, int window_bits = 31) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace prophecy::measurement
