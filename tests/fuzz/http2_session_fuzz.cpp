// HTTP/2 on one connection, by a script. What the client gets is well-formed: frames in their
// order, one answer at most on each stream that it has opened, with as many bytes as it declares.
#include <nghttp2/nghttp2.h>

#include "http/text.hpp"
#include "session_script.hpp"
#include "sketcher/client/http/http2_session.hpp"

namespace prophecy::sketcher::session_test {
namespace {

std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i)
    text += static_cast<char>(value >> (8 * i));
  return text;
}

std::uint32_t number_in(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char byte : bytes)
    value = value << 8 | static_cast<std::uint8_t>(byte);
  return value;
}

std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                  const std::string& payload) {
  return number(payload.size(), 3) + static_cast<char>(type) + static_cast<char>(flags) +
         number(stream, 4) + payload;
}

// What a session sends, frame by frame.
class FrameCheck {
 public:
  FrameCheck() { REQUIRE(nghttp2_hd_inflate_new(&inflater_) == 0); }
  ~FrameCheck() { nghttp2_hd_inflate_del(inflater_); }
  FrameCheck(const FrameCheck&) = delete;
  FrameCheck& operator=(const FrameCheck&) = delete;

  // False: the last one is not whole.
  [[nodiscard]] bool take(std::string_view bytes) {
    while (bytes.size() >= 9) {
      const std::size_t size = number_in(bytes.substr(0, 3));
      REQUIRE(size <= 16384);
      if (bytes.size() < 9 + size) return false;
      on_frame(static_cast<std::uint8_t>(bytes[3]), static_cast<std::uint8_t>(bytes[4]),
               number_in(bytes.substr(5, 4)) & 0x7fffffff, bytes.substr(9, size));
      bytes.remove_prefix(9 + size);
    }
    return bytes.empty();
  }

 private:
  struct Stream {
    bool has_head = false;
    bool is_over = false;
    std::optional<std::uint64_t> length;
    std::uint64_t bytes = 0;
  };

  void on_frame(std::uint8_t type, std::uint8_t flags, std::uint32_t id, std::string_view payload) {
    REQUIRE((block_of_ == 0 || (type == NGHTTP2_CONTINUATION && id == block_of_)));
    const bool ends_stream = (flags & NGHTTP2_FLAG_END_STREAM) != 0;
    switch (type) {
      case NGHTTP2_HEADERS:
        REQUIRE((id % 2 == 1 && !streams_[id].is_over && !streams_[id].has_head));
        REQUIRE((flags & (NGHTTP2_FLAG_PADDED | NGHTTP2_FLAG_PRIORITY)) == 0);
        block_of_ = id;
        ends_with_block_ = ends_stream;
        status_.clear();
        [[fallthrough]];
      case NGHTTP2_CONTINUATION:
        return on_block(payload, (flags & NGHTTP2_FLAG_END_HEADERS) != 0);
      case NGHTTP2_DATA: {
        Stream& stream = streams_[id];
        REQUIRE((stream.has_head && !stream.is_over));
        stream.bytes += payload.size();
        if (ends_stream) end(stream);
        return;
      }
      case NGHTTP2_RST_STREAM:
        REQUIRE((id % 2 == 1 && payload.size() == 4));
        streams_[id].is_over = true;
        return;
      case NGHTTP2_SETTINGS:
      case NGHTTP2_PING:
      case NGHTTP2_GOAWAY:
        REQUIRE(id == 0);
        return;
      case NGHTTP2_WINDOW_UPDATE:
        REQUIRE((payload.size() == 4 && number_in(payload) > 0));
        return;
      default:
        REQUIRE(false);  // nothing else is said by a server that pushes nothing
    }
  }
  void on_block(std::string_view payload, bool is_last) {
    REQUIRE(block_of_ != 0);
    Stream& stream = streams_[block_of_];
    auto* in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(payload.data()));
    std::size_t left = payload.size();
    for (;;) {
      nghttp2_nv field{};
      int flags = 0;
      const ssize_t used =
          nghttp2_hd_inflate_hd2(inflater_, &field, &flags, in, left, is_last ? 1 : 0);
      REQUIRE(used >= 0);
      in += used;
      left -= static_cast<std::size_t>(used);
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) on_field(stream, field);
      if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) {
        nghttp2_hd_inflate_end_headers(inflater_);
        break;
      }
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0 && left == 0) break;
    }
    if (!is_last) return;
    block_of_ = 0;
    REQUIRE(status_.size() == 3);
    if (status_[0] == '1') {
      REQUIRE(!ends_with_block_);
      stream.length.reset();
      return;
    }
    stream.has_head = true;
    // An answer to HEAD, or with such a status, declares what does not come.
    if (ends_with_block_) stream.is_over = true;
  }
  void on_field(Stream& stream, const nghttp2_nv& field) {
    const std::string name(reinterpret_cast<const char*>(field.name), field.namelen);
    const std::string value(reinterpret_cast<const char*>(field.value), field.valuelen);
    REQUIRE((name == ":status" || http::is_token(name)));
    REQUIRE(http::is_field_value(value));
    if (name == ":status") status_ = value;
    std::uint64_t length = 0;
    if (name == "content-length" && http::parse_decimal(value, length)) stream.length = length;
  }
  static void end(Stream& stream) {
    REQUIRE((!stream.length || *stream.length == stream.bytes));
    stream.is_over = true;
  }

  nghttp2_hd_inflater* inflater_ = nullptr;
  std::map<std::uint32_t, Stream> streams_;
  std::uint32_t block_of_ = 0;  // whose header block is under way
  bool ends_with_block_ = false;
  std::string status_;
};

class Http2Script final : public SessionScript<Http2Session> {
 public:
  using SessionScript::SessionScript;

 private:
  [[nodiscard]] std::string fragment() override {
    const auto any_stream = static_cast<std::uint32_t>(1 + 2 * choices_.below(8));
    constexpr std::uint8_t kEndStream = NGHTTP2_FLAG_END_STREAM;
    constexpr std::uint8_t kEndHeaders = NGHTTP2_FLAG_END_HEADERS;
    switch (choices_.below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return frame(NGHTTP2_HEADERS, kEndStream | kEndHeaders, next(), head('\x82', ""));
      case 4:  // POST
        return frame(NGHTTP2_HEADERS, kEndHeaders, next(), head('\x83', ""));
      case 5:
        return frame(NGHTTP2_HEADERS, kEndHeaders, next(),
                     head('\x83', std::string("\x0f\x14", 2) + "\x0c"
                                                               "100-continue"));
      case 6:  // HEAD
        return frame(NGHTTP2_HEADERS, kEndStream | kEndHeaders, next(),
                     std::string("\x02\x04HEAD", 6) + head('\0', "").substr(1));
      case 7:
        return frame(NGHTTP2_DATA, choices_.byte() % 2, any_stream,
                     std::string(choices_.one_of<std::size_t>({0, 5, 4096, 16384}), 'x'));
      case 8:
        return frame(NGHTTP2_RST_STREAM, 0, any_stream, number(8, 4));
      case 9:
        return frame(NGHTTP2_WINDOW_UPDATE, 0, choices_.byte() % 2 == 0 ? 0 : any_stream,
                     number(choices_.one_of<std::uint32_t>({1, 1000, 100'000, 0x7fffffff}), 4));
      case 10:
        return frame(NGHTTP2_SETTINGS, 0, 0,
                     number(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 2) +
                         number(choices_.one_of<std::uint32_t>({0, 10, 65'535, 1 << 20}), 4));
      case 11:
        return frame(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, "");
      case 12:
        return frame(NGHTTP2_PING, 0, 0, number(7, 8));
      case 13:
        return frame(NGHTTP2_GOAWAY, 0, 0, number(0, 8));
      case 14:  // the fields go on
        has_open_fields_ = true;
        return frame(NGHTTP2_HEADERS, kEndStream, next(), head('\x82', ""));
      default:
        return frame(NGHTTP2_CONTINUATION, kEndHeaders, last_, "");
    }
  }
  std::uint32_t next() { return last_ += 2; }
  // Then nothing of them is held, but for what fast reads take that go on for nobody.
  void take_requests_back() override {
    if (is_odd() || has_open_fields_) return;
    for (std::uint32_t stream = 1; stream <= last_ && last_ < UINT32_MAX && !client_.over();
         stream += 2)
      client_.send(frame(NGHTTP2_RST_STREAM, 0, stream, number(8, 4)));
    settle();
    REQUIRE((client_.over() || arriving() == 0));
  }
  // A request for /N at the host a.
  std::string head(char method, const std::string& more) {
    std::string fields(1, method);
    fields += std::string(
        "\x86\x01\x01"
        "a\x04\x02/",
        7);
    return fields + static_cast<char>('0' + choices_.below(8)) + more;
  }

  void check_answers(const std::string& taken) override {
    FrameCheck check;
    REQUIRE((check.take(taken) || client_.over()));
  }

  std::uint32_t last_ = UINT32_MAX;
  bool has_open_fields_ = false;
};

}  // namespace
}  // namespace prophecy::sketcher::session_test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prophecy;
  using namespace prophecy::sketcher;
  fuzz::Choices choices(data, size);
  session_test::World world;
  Http2Resources http2{.limits = {}, .timeouts = world.timeouts_of};
  http2.limits.streams_max = 8;
  session_test::Client<Http2Session> client(
      world, http2, choices.one_of<std::size_t>({1 << 20, 100'000, 4096, 100}));
  session_test::Http2Script script(choices, world, client);
  std::string hello(http::kHttp2Preface);
  if (!choices.one_in(16)) hello += session_test::frame(NGHTTP2_SETTINGS, 0, 0, "");
  client.begin(hello);
  script.run();
  return 0;
}
