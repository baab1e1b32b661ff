// Texts and frames as nghttp2 wants and gives them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <nghttp2/nghttp2.h>

namespace prophecy::http {

inline std::string_view view(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// nghttp2 takes fields as pointers to bytes that it does not change.
inline std::uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}

inline bool ends_stream(const nghttp2_frame& frame) {
  return (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
}

}  // namespace prophecy::http
