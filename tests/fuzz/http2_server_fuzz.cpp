// A client's bytes on an HTTP/2 connection. What requests come out does not depend on how the
// bytes were cut (but where the connection is given up, see below); each is one that HTTP/1 would
// have let pass; and whatever is answered when, what is held and what is handed out stays within
// its bounds.
#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "feed_twice.hpp"
#include "http/http2/server_connection.hpp"
#include "http/request_rules.hpp"
#include "http/text.hpp"

using namespace prophecy;
using http::require;

namespace {

constexpr std::size_t kOutputBytesMax = 4096;
// A frame begins below the bound, and may end beyond it.
constexpr std::size_t kFrameBytesMax = 16384 + 9;

http::Http2Limits limits() {
  http::Http2Limits made;
  made.request.header_bytes_max = 1024;
  made.request.target_bytes_max = 256;
  made.request.body_bytes_max = 512;
  made.streams_max = 8;
  made.bodies_bytes_max = 1024;
  made.unsent_bytes_max = 100'000;
  return made;
}

class World final : private http::Http2Handler {
 public:
  enum class Answers { never, at_once, later };

  explicit World(Answers answers) : answers_(answers) {}

  void feed(std::string_view input) {
    connection_.feed(input, now_);
    if (answers_ != Answers::never) now_ += milliseconds(1);
    for (Stream* stream : std::exchange(waiting_, {})) {
      if (open_.contains(stream)) answer(*stream);
    }
    require(output_.size() <= kOutputBytesMax + kFrameBytesMax);
    output_.clear();
    if (answers_ != Answers::never) connection_.take_output(output_, kOutputBytesMax);
    for (Stream* stream : std::exchange(drained_, {}))
      append(*stream);
    // A rest changes nothing but, on the ends of streams that are over, which rule a frame breaks.
    if (answers_ == Answers::later && open_.empty() && !connection_.in_header_block()) {
      connection_.rest();
    }
    require(connection_.streams() == open_.size());
    require(connection_.unsent_bytes() <= limits_.unsent_bytes_max);
    require(!open_.empty() || connection_.arriving_bytes() == 0);
  }
  [[nodiscard]] const std::string& requests() const { return requests_; }

 private:
  struct Stream final : http::Http2Stream {
    std::size_t to_come = 0;
  };

  http::Http2Stream& on_stream_opened() override {
    streams_.push_back(std::make_unique<Stream>());
    open_.insert(streams_.back().get());
    return *streams_.back();
  }
  void on_progress(http::Http2Stream& stream, std::size_t) override { require(!stream.received()); }
  void on_request(http::Http2Stream& stream) override {
    const http::Request& request = stream.request;
    require(http::check_request(request).reason.empty() && http::is_known_method(request.method));
    require(request.body.size() <= limits_.request.body_bytes_max);
    requests_ += request.method + ' ' + request.target + '\n';
    for (std::size_t i = 0; i < request.fields.size(); ++i) {
      require(http::is_token(request.fields.name(i)));
      require(http::is_field_value(request.fields.value(i)));
      requests_.append(request.fields.name(i)).append(": ").append(request.fields.value(i)) += '\n';
    }
    requests_ += request.body + '\n';
    if (answers_ == Answers::at_once) answer(static_cast<Stream&>(stream));
    if (answers_ == Answers::later) waiting_.push_back(&static_cast<Stream&>(stream));
  }
  void on_refused(http::Http2Stream& stream, const http::ParseFailure& failure) override {
    requests_ += std::to_string(failure.status) + '\n';
    if (answers_ != Answers::never) answer(static_cast<Stream&>(stream));
  }
  void on_violation(std::string_view reason) override { require(!reason.empty()); }
  void on_sent(http::Http2Stream& stream, std::size_t) override { require(stream.unsent() > 0); }
  void on_drained(http::Http2Stream& stream) override {
    require(stream.unsent() == 0);
    drained_.push_back(&static_cast<Stream&>(stream));
  }
  void on_stream_closed(http::Http2Stream& stream) override {
    std::erase(drained_, &static_cast<Stream&>(stream));
    require(open_.erase(static_cast<Stream*>(&stream)) == 1);
  }

  void answer(Stream& stream) {
    const std::string body(7 * stream.request.target.size() * stream.request.target.size(), 'b');
    const std::string length = std::to_string(body.size());
    http::Http2Head head(200);
    head.add("content-length", length);
    if (answers_ == Answers::later && !body.empty()) {
      connection_.begin(stream, head, body.size());
      stream.to_come = body.size();
      append(stream);
    } else {
      static_cast<void>(connection_.answer(stream, head, body, output_, kOutputBytesMax));
    }
  }

  // One of a small target is cut off in the midst.
  void append(Stream& stream) {
    if (stream.to_come < 300 && stream.request.target.size() < 8) {
      return connection_.cut_off(stream);
    }
    std::string piece(std::min<std::size_t>(stream.to_come, 1000), 'b');
    stream.to_come -= piece.size();
    const std::size_t size = piece.size();
    connection_.append(stream, piece, 0, size);
  }

  Answers answers_;
  const http::Http2Limits limits_ = limits();
  http::SessionMemoryPool memory_;
  http::Http2ServerConnection connection_{*this, limits_, "http",
                                          answers_ == Answers::later ? &memory_ : nullptr};
  TimePoint now_{};
  std::vector<std::unique_ptr<Stream>> streams_;
  std::set<Stream*> open_;
  std::vector<Stream*> waiting_;
  std::vector<Stream*> drained_;
  std::string output_;
  std::string requests_;
};

void feed_pieces(World& world, std::string_view input, std::size_t piece_size) {
  for (; !input.empty(); input.remove_prefix(std::min(piece_size, input.size())))
    world.feed(input.substr(0, piece_size));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece_size = 1 + data[0] % 32;
  std::string input(http::kHttp2Preface);
  input.append(reinterpret_cast<const char*>(data) + 1, size - 1);

  World whole(World::Answers::never);
  whole.feed(input);
  World pieces(World::Answers::never);
  feed_pieces(pieces, input, piece_size);
  // nghttp2 counts how often it is called within some frames' headers, and gives a connection up
  // for that: fewer requests may come of small pieces, but never others.
  require(whole.requests().starts_with(pieces.requests()));

  World at_once(World::Answers::at_once);
  feed_pieces(at_once, input, 8 * piece_size);
  World later(World::Answers::later);
  feed_pieces(later, input, piece_size);
  return 0;
}
