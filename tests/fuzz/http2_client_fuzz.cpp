// A hostile member's bytes on an HTTP/2 connection that we have made. Whatever it says, in whatever
// pieces: each call ends once at most, and nothing is heard of it afterwards; no more bytes of an
// answer come than its window had room for; and what is handed out is the HTTP that limits allow.
#include <array>
#include <cstdint>
#include <utility>

#include "feed_twice.hpp"
#include "http/http2/client_connection.hpp"
#include "http/text.hpp"

using namespace prophecy;
using http::require;

namespace {

struct Call final : http::Http2Call {
  bool has_head = false;
  int ends = 0;
  bool cancelled = false;
};

http::MessageLimits limits_of_answers() {
  http::MessageLimits limits;
  limits.header_bytes_max = 1024;
  limits.header_count_max = 16;
  return limits;
}

// The server's first frame; its own may follow.
constexpr std::string_view kEmptySettings("\0\0\0\4\0\0\0\0\0", 9);

class World final : private http::Http2CallHandler {
 public:
  explicit World(unsigned choices) : choices_(choices) {
    require(!client_.has_room());
    client_.feed(kEmptySettings);
    for (Call& call : calls_) {
      http::Http2RequestHead head("PUT", "https", "example.org", "/");
      head.add("content-length", "5");
      client_.call(call, head, "hello", {});
    }
    take();
  }

  void feed(std::string_view input) {
    client_.feed(input);
    if ((choices_ & 1) != 0) consume_all();
    if ((choices_ & 2) != 0 && calls_[1].open()) {
      client_.cancel(calls_[1]);
      calls_[1].cancelled = true;
    }
    take();
    require(client_.calls() <= calls_.size());
  }
  void end() {
    client_.lose();
    require(client_.is_over() && client_.calls() == 0);
    for (const Call& call : calls_)
      require(!call.open() && call.ends == (call.cancelled ? 0 : 1));
  }

 private:
  void take() {
    std::string out;
    client_.take_output(out, 1 << 16);
  }
  void consume_all() {
    for (Call& call : calls_)
      client_.consume(call, call.unconsumed_bytes());
  }
  void on_answer_head(http::Http2Call& call) override {
    auto& one = static_cast<Call&>(call);
    require(!std::exchange(one.has_head, true) && one.ends == 0 && !one.cancelled);
    require(call.response.status >= 200 && call.response.status <= 999);
    const http::FieldList& fields = call.response.fields;
    require(fields.size() <= 16);
    for (std::size_t i = 0; i < fields.size(); ++i)
      require(http::is_token(fields.name(i)) && http::is_field_value(fields.value(i)));
  }
  void on_answer_bytes(http::Http2Call& call, std::string_view bytes) override {
    auto& one = static_cast<Call&>(call);
    require(!bytes.empty() && one.has_head && one.ends == 0 && !one.cancelled);
    require(call.unconsumed_bytes() <= http::kHttp2CallWindowBytes);
  }
  void on_call_end(http::Http2Call& call, http::Http2CallEnd end) override {
    auto& one = static_cast<Call&>(call);
    require(++one.ends == 1 && !one.cancelled && !call.open());
    require(end != http::Http2CallEnd::answered || one.has_head);
  }

  unsigned choices_;
  const http::MessageLimits limits_ = limits_of_answers();
  http::Http2ClientConnection client_{*this, limits_};
  std::array<Call, 3> calls_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  World world(data[0]);
  const std::size_t piece_size = 1 + data[0] / 4;
  std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  for (; !input.empty(); input.remove_prefix(std::min(piece_size, input.size())))
    world.feed(input.substr(0, piece_size));
  world.end();
  return 0;
}
