#include <catch2/catch.hpp>

#include "http/http2/flood_guard.hpp"
#include "http/http2/frame_finder.hpp"
#include "http/http2/request_builder.hpp"
#include "http/http2/server_connection.hpp"

namespace prophecy::http {
namespace {

using Field = std::pair<std::string, std::string>;

constexpr TimePoint kStart = TimePoint(seconds(1000));

// The fields of a GET, with others behind them.
struct Built {
  explicit Built(std::vector<Field> fields, const MessageLimits& limits = {}) {
    builder.start(request);
    for (const auto& [name, value] : fields)
      builder.add(name, value, limits);
    builder.finish("http", limits);
  }
  Request request;
  RequestBuilder builder;
};

std::vector<Field> get(std::vector<Field> more = {}) {
  std::vector<Field> fields = {
      {":method", "GET"}, {":scheme", "http"}, {":path", "/a?b"}, {":authority", "example.org"}};
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

std::string frame(std::size_t size, char type, char flags, char stream) {
  return {static_cast<char>(size >> 16),
          static_cast<char>(size >> 8),
          static_cast<char>(size),
          type,
          flags,
          0,
          0,
          0,
          stream};
}

}  // namespace

TEST_CASE("Fields of HTTP/2 become a request as HTTP/1 has it") {
  const Built built(get({{"cookie", "a=1"}, {"accept", "*/*"}, {"cookie", "b=2"}}));
  REQUIRE(built.builder.failure().reason.empty());
  CHECK(built.request.method == "GET");
  CHECK(built.request.target == "/a?b");
  CHECK(built.request.version_minor == 1);
  CHECK(built.request.fields.find("host") == "example.org");
  CHECK(built.request.fields.find("cookie") == "a=1; b=2");
  CHECK(built.request.fields.count("cookie") == 1);
}

TEST_CASE("Host and authority have to agree, but for their case") {
  CHECK(Built(get({{"host", "EXAMPLE.org"}})).builder.failure().reason.empty());
  CHECK(Built(get({{"host", "example.net"}})).builder.failure().status == 400);
}

TEST_CASE("The first thing that is wrong with a request decides its status") {
  MessageLimits limits;
  limits.header_count_max = 3;
  limits.body_bytes_max = 100;
  const auto status = [&limits](std::vector<Field> fields) {
    return Built(std::move(fields), limits).builder.failure().status;
  };
  CHECK(status(get({{"a", "b"}, {"c", "d"}, {"e", "f"}, {"g", "h"}})) == 431);
  CHECK(status(get({{"content-length", "101"}})) == 413);
  CHECK(status(get({{"content-length", "1"}, {"content-length", "1"}})) == 400);
  CHECK(status(get({{"expect", "tea"}})) == 417);
  CHECK(status({{":method", "BREW"}, {":scheme", "http"}, {":path", "/"}, {":authority", "a"}}) ==
        501);
  CHECK(status({{":method", "GET"}, {":scheme", "https"}, {":path", "/"}, {":authority", "a"}}) ==
        421);
  CHECK(status({{":method", "GET"}, {":scheme", "http"}, {":path", "*"}, {":authority", "a"}}) ==
        400);
  CHECK(status({{":method", "GET"}, {":scheme", "http"}, {":path", "/"}}) == 400);
}

TEST_CASE("A flood ends its budget, and time and work refill it") {
  FloodGuard guard;
  std::size_t frames = 0;
  while (guard.on_idle_frame(kStart))
    ++frames;
  CHECK(frames == 1000);
  CHECK_FALSE(guard.on_idle_frame(kStart + milliseconds(4)));
  CHECK(guard.on_idle_frame(kStart + milliseconds(5)));
  CHECK_FALSE(guard.on_idle_frame(kStart + milliseconds(6)));
  guard.on_body_sent(2047);
  CHECK_FALSE(guard.on_idle_frame(kStart + milliseconds(6)));
  guard.on_body_sent(1);
  CHECK(guard.on_idle_frame(kStart + milliseconds(6)));

  std::size_t resets = 0;
  while (guard.on_reset(kStart))
    ++resets;
  CHECK(resets == 200);
  guard.on_request_answered();
  CHECK(guard.on_reset(kStart));
  CHECK_FALSE(guard.on_reset(kStart));
}

// What is found in the input, cut into such pieces: the streams, an e behind what is idle. `check`
// is given each, and the last byte of its header.
template <class Check>
std::string found_in(std::string_view input, std::size_t piece_size, Check check) {
  FrameFinder finder;
  std::string text;
  for (std::size_t position = 0; position < input.size();) {
    const std::string_view piece = input.substr(position, piece_size);
    const auto found = finder.find(piece);
    position += found ? found->header_end : piece.size();
    if (!found) continue;
    text += std::to_string(found->stream_id) + (found->is_idle ? "e " : " ");
    check(*found, static_cast<unsigned char>(input[position - 1]));
  }
  return text;
}

TEST_CASE("DATA and unknown frames are found however the bytes are cut") {
  const std::string input = std::string(kHttp2Preface) + frame(3, 4, 0, 0) + "xyz" +
                            frame(2, 0, 1, 5) + "ab" + frame(0, 0, 0, 7) + frame(0, 0, 1, 9) +
                            frame(1, 0x20, 0, 11) + "z";
  const auto ends_with_its_header = [](const FrameFinder::Found& found, unsigned char last) {
    CHECK(last == found.stream_id);
  };
  for (std::size_t piece_size = 1; piece_size <= input.size(); ++piece_size)
    CHECK(found_in(input, piece_size, ends_with_its_header) == "5 7e 9 11e ");
}

TEST_CASE("DATA with nothing but padding is idle, unless it ends the body") {
  const std::string input = std::string(kHttp2Preface) + frame(1, 0, 8, 1) + std::string(1, 0) +
                            frame(4, 0, 8, 3) + "\x03xyz" + frame(4, 0, 8, 5) +
                            "\x02"
                            "ayz" +
                            frame(3, 0, 9, 7) + "\x02yz" + frame(0, 0, 8, 9) + frame(2, 0, 8, 11) +
                            "\x05x" + frame(1, 0, 0, 13) + "a";
  for (std::size_t piece_size = 1; piece_size <= input.size(); ++piece_size)
    CHECK(found_in(input, piece_size, [](const auto&, unsigned char) {}) == "1e 3e 5 7 9e 11e 13 ");
}

}  // namespace prophecy::http
