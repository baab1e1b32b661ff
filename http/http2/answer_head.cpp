// The head of an answer as nghttp2 takes it.
#include "base/assert.hpp"
#include "http/http2/nghttp2_bytes.hpp"
#include "http/http2/server_connection.hpp"

namespace prophecy::http {

Http2Head::Http2Head(std::uint16_t status) {
  ASSERT(status >= 100 && status <= 999);
  status_[0] = static_cast<char>('0' + status / 100);
  status_[1] = static_cast<char>('0' + status / 10 % 10);
  status_[2] = static_cast<char>('0' + status % 10);
  fields_.reserve(24);
  add(":status", {status_, sizeof status_});
}

void Http2Head::add(std::string_view name, std::string_view value) {
  fields_.push_back(
      {bytes_of(name), bytes_of(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
}

}  // namespace prophecy::http
