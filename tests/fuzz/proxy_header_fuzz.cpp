// What a load balancer puts in front of a connection: parsed whole and in pieces alike, never
// beyond its bound, and what it says can be said again in both versions.
#include "feed_twice.hpp"
#include "http/proxy_header.hpp"

using namespace prophecy;
using http::require;

namespace {

void check_written(const http::ProxiedConnection& connection) {
  std::string line;
  http::append_proxy_header_v1(line, connection);
  std::string binary;
  http::append_proxy_header_v2(binary, connection);
  for (const std::string& text : {line, binary}) {
    http::ProxyHeaderParser parser;
    const http::ParseProgress progress = parser.feed(text);
    require(progress.state == http::ParseState::complete && progress.consumed == text.size());
    require(parser.connection() == connection);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece_size = 1 + data[0] % 16;
  std::string input(reinterpret_cast<const char*>(data) + 1, size - 1);
  // Half of the inputs come behind the signature, which is hard to guess.
  if ((data[0] & 0x80) != 0) {
    std::string signed_input;
    http::append_proxy_header_v2(signed_input, {});
    signed_input.resize(12);
    input.insert(0, signed_input);
  }
  http::ProxyHeaderParser whole;
  http::ProxyHeaderParser pieces;
  http::ParseState whole_state{};
  http::ParseState pieces_state{};
  const auto consumed = http::feed_pieces(whole, input, input.size(), whole_state);
  const auto again = http::feed_pieces(pieces, input, piece_size, pieces_state);
  require(whole_state == pieces_state && consumed == again);
  require(consumed <= http::kProxyHeaderBytesMax);
  require(whole.connection() == pieces.connection());
  if (whole_state == http::ParseState::complete && whole.connection()) {
    check_written(*whole.connection());
  }
  return 0;
}
