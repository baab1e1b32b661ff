#include <array>
#include <memory>
#include <optional>

#include <catch2/catch.hpp>

#include "http/http2/client_connection.hpp"
#include "http/http2/server_connection.hpp"

namespace prophecy::http {
namespace {

// A server that keeps its requests until it is told what to do with them.
class Server final : public Http2Handler {
 public:
  struct Stream final : Http2Stream {};

  explicit Server(const Http2Limits& limits_of = {.request = {},
                                                  .streams_max = 1000,
                                                  .is_from_proxy = true})
      : limits(limits_of) {}

  Http2Stream& on_stream_opened() override {
    streams.push_back(std::make_unique<Stream>());
    return *streams.back();
  }
  void on_progress(Http2Stream&, std::size_t) override {}
  void on_request(Http2Stream& stream) override { requests.push_back(&stream); }
  void on_refused(Http2Stream& stream, const ParseFailure& failure) override {
    refusals.push_back(failure.status);
    std::string ignored;
    static_cast<void>(connection.answer(stream, Http2Head(failure.status), "", ignored, 0));
  }
  void on_violation(std::string_view reason) override { violations.emplace_back(reason); }
  void on_sent(Http2Stream&, std::size_t) override {}
  void on_drained(Http2Stream&) override {}
  void on_storage_free(std::string& storage) override { freed = std::move(storage); }
  void on_stream_closed(Http2Stream& stream) override { std::erase(requests, &stream); }

  void answer(Http2Stream& stream, const std::string& body) {
    const std::string length = std::to_string(body.size());
    Http2Head head(200);
    head.add("content-length", length);
    static_cast<void>(connection.answer(stream, head, body, output, 1 << 20));
  }
  // With the part of the storage behind its first bytes.
  void answer_from(Http2Stream& stream, std::string& storage, std::size_t begin) {
    const std::string_view body = std::string_view(storage).substr(begin);
    const std::string length = std::to_string(body.size());
    Http2Head head(200);
    head.add("content-length", length);
    static_cast<void>(connection.answer(stream, head, body, output, 1 << 20, &storage));
  }

  const Http2Limits limits;
  Http2ServerConnection connection{*this, limits, "http"};
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<Http2Stream*> requests;
  std::vector<int> refusals;
  std::vector<std::string> violations;
  std::string output;
  std::string freed;
};

struct Call final : Http2Call {
  std::string body;
  std::optional<Http2CallEnd> end;
};

class World final : private Http2CallHandler {
 public:
  explicit World(const Http2Limits& limits = {.request = {},
                                              .streams_max = 1000,
                                              .is_from_proxy = true},
                 bool begins = true)
      : server(limits) {
    if (begins) exchange();
  }

  void call(Call& call, const std::vector<std::pair<std::string, std::string>>& fields = {},
            std::string_view body = {}, ByteSourcePtr large = {}, const char* method = "GET") {
    Http2RequestHead head(method, "http", "example.org", "/a");
    for (const auto& [name, value] : fields)
      head.add(name, value);
    client.call(call, head, body, std::move(large));
  }
  // Until neither side has anything to say.
  void exchange() {
    for (;;) {
      std::string out;
      client.take_output(out, 1 << 20);
      sent += out;
      server.connection.feed(out, TimePoint(seconds(1000)));
      server.connection.take_output(server.output, 1 << 20);
      const std::string back = std::exchange(server.output, {});
      client.feed(back);
      if (out.empty() && back.empty()) return;
    }
  }

  void on_answer_head(Http2Call&) override { ++heads; }
  void on_answer_bytes(Http2Call& call, std::string_view bytes) override {
    static_cast<Call&>(call).body.append(bytes);
    if (consumes) client.consume(call, bytes.size());
  }
  void on_call_end(Http2Call& call, Http2CallEnd end) override {
    static_cast<Call&>(call).end = end;
  }

  const MessageLimits limits_of_answers{};
  Server server;
  Http2ClientConnection client{*this, limits_of_answers};
  std::string sent;
  int heads = 0;
  bool consumes = true;
};

class Text final : public ByteSource {
 public:
  explicit Text(std::string text, std::uint64_t readable = UINT64_MAX)
      : text_(std::move(text)), readable_(readable) {}
  [[nodiscard]] std::uint64_t size() const override { return text_.size(); }
  [[nodiscard]] bool read(std::uint64_t offset, std::span<char> into) const override {
    text_.copy(into.data(), into.size(), offset);
    return offset + into.size() <= readable_;
  }

 private:
  std::string text_;
  std::uint64_t readable_;
};

}  // namespace

TEST_CASE("Requests over HTTP/2 are answered, each its own, in any order") {
  Call first;
  Call second;
  World world;
  world.call(first, {{"accept", "*/*"}});
  world.call(second, {{"content-length", "3"}}, "abc", {}, "PUT");
  world.exchange();
  REQUIRE(world.server.requests.size() == 2);
  CHECK(world.server.requests[0]->request.fields.find("accept") == "*/*");
  CHECK(world.server.requests[1]->request.body == "abc");
  Http2Stream& earlier = *world.server.requests[0];
  world.server.answer(*world.server.requests[1], "two");
  world.server.answer(earlier, std::string(100'000, 'x'));
  world.exchange();
  CHECK(first.end == Http2CallEnd::answered);
  CHECK(first.response.status == 200);
  CHECK(first.response.fields.find("content-length") == "100000");
  CHECK(first.body == std::string(100'000, 'x'));
  CHECK(second.body == "two");
  CHECK(world.client.calls() == 0);
}

TEST_CASE("A stalled answer holds its own window, and stops no other") {
  Call stalled;
  World world;
  world.consumes = false;
  world.call(stalled);
  world.exchange();
  world.server.answer(*world.server.requests[0], std::string(3 << 20, 'x'));
  world.exchange();
  CHECK(stalled.body.size() == kHttp2CallWindowBytes);
  CHECK(stalled.unconsumed_bytes() == kHttp2CallWindowBytes);
  CHECK_FALSE(stalled.end.has_value());

  // Many more than the connection's window would hold in all.
  world.consumes = true;
  for (int i = 0; i < 100; ++i) {
    Call other;
    world.call(other);
    world.exchange();
    world.server.answer(*world.server.requests.back(), std::string(1 << 20, 'y'));
    world.exchange();
    REQUIRE(other.end == Http2CallEnd::answered);
  }
  world.client.consume(stalled, stalled.unconsumed_bytes());
  world.exchange();
  CHECK(stalled.body.size() > kHttp2CallWindowBytes);
}

TEST_CASE("What does not leave at once of a large answer is not copied") {
  Call call;
  World world;
  world.call(call);
  world.exchange();
  std::string body;
  while (body.size() < 2 << 20)
    body += "piece " + std::to_string(body.size()) + "; ";
  std::string storage = "head" + body;
  const void* const place = storage.data();
  world.server.answer_from(*world.server.requests[0], storage, 4);
  CHECK(storage.empty());
  world.exchange();
  REQUIRE(call.end == Http2CallEnd::answered);
  CHECK(call.body == body);
  CHECK(world.server.freed.data() == place);

  // A small one is, and its storage stays with its owner.
  Call small;
  world.call(small);
  world.exchange();
  storage = "head" + std::string(1000, 's');
  world.server.answer_from(*world.server.requests[0], storage, 4);
  CHECK(storage.size() == 1004);
  world.exchange();
  CHECK(small.body == std::string(1000, 's'));
}

TEST_CASE("A body that is not in memory is sent as the server's windows allow") {
  Call call;
  World world({.request = {.body_bytes_max = 4 << 20}, .streams_max = 1000, .is_from_proxy = true});
  const std::string body(2 << 20, 'b');
  world.call(call, {{"content-length", std::to_string(body.size())}}, {},
             std::make_shared<Text>(body), "PUT");
  world.exchange();
  REQUIRE(world.server.requests.size() == 1);
  CHECK(world.server.requests[0]->request.body == body);
}

TEST_CASE("A body that cannot be read any more breaks its stream off, and no other") {
  Call call;
  Call other;
  World world;
  world.call(call, {{"content-length", "100000"}}, {},
             std::make_shared<Text>(std::string(100'000, 'b'), 50'000), "PUT");
  world.call(other);
  world.exchange();
  CHECK(call.end == Http2CallEnd::broken_off);
  REQUIRE(world.server.requests.size() == 1);
  CHECK(world.server.requests[0]->request.method == "GET");
}

TEST_CASE("What a server has refused, or has not begun when it ends, may be made again") {
  Call begun;
  Call late;
  World world;
  world.call(begun);
  world.exchange();
  world.server.connection.shut_down();
  world.call(late);  // crosses the GOAWAY
  CHECK_FALSE(world.client.is_worn());
  world.exchange();
  CHECK(late.end == Http2CallEnd::unprocessed);
  // Nor was it: a write would be made twice.
  CHECK(world.server.streams.size() == 1);
  CHECK_FALSE(begun.end.has_value());
  CHECK(world.client.is_worn());
  CHECK_FALSE(world.client.finished());
  world.server.answer(*world.server.requests[0], "done");
  world.exchange();
  CHECK(begun.end == Http2CallEnd::answered);
  CHECK(world.client.finished());
}

// With TLS 1.3, a client is the first to see the handshake end.
TEST_CASE("Calls wait until the server has sent its settings") {
  World world({.request = {}, .streams_max = 1000, .is_from_proxy = true}, false);
  std::string out;
  world.client.take_output(out, 1 << 20);
  CHECK_FALSE(out.empty());
  CHECK_FALSE(world.client.is_accepted());
  CHECK_FALSE(world.client.has_room());
  world.server.connection.take_output(world.server.output, 1 << 20);
  world.client.feed(world.server.output);
  CHECK(world.client.is_accepted());
  CHECK(world.client.has_room());
}

TEST_CASE("Nobody knows what became of a call whose stream or connection has broken") {
  Call reset;
  Call lost;
  World world;
  world.call(reset);
  world.call(lost);
  world.exchange();
  world.server.connection.break_off(*world.server.requests[0]);
  world.exchange();
  CHECK(reset.end == Http2CallEnd::broken_off);
  world.client.lose();
  CHECK(lost.end == Http2CallEnd::lost);
  CHECK(world.client.is_over());
}

TEST_CASE("No more calls are made at a time than the server takes") {
  std::array<Call, 2> calls;
  World world({.request = {}, .streams_max = 2, .is_from_proxy = true});
  for (Call& call : calls) {
    CHECK(world.client.has_room());
    world.call(call);
  }
  CHECK_FALSE(world.client.has_room());
  world.client.cancel(calls[0]);
  CHECK(world.client.has_room());
  world.exchange();
  CHECK_FALSE(calls[0].end.has_value());
}

TEST_CASE("A cancelled call is heard of no more, and costs the connection nothing") {
  World world;
  for (int i = 0; i < 1000; ++i) {
    Call call;
    world.call(call);
    if (i % 2 == 0) world.exchange();
    world.client.cancel(call);
    world.exchange();
    REQUIRE_FALSE(call.end.has_value());
  }
  Call last;
  world.call(last);
  world.exchange();
  REQUIRE(world.server.requests.size() == 1);
  world.server.answer(*world.server.requests[0], "still here");
  world.exchange();
  CHECK(last.body == "still here");
}

TEST_CASE("Credentials never enter the table of fields") {
  std::array<Call, 3> calls;
  World world;
  const std::string secret = "session=0123456789abcdef0123456789abcdef";
  std::vector<std::size_t> sizes;
  for (Call& call : calls) {
    world.sent.clear();
    world.call(call, {{"cookie", secret}, {"authorization", "Basic " + secret}, {"accept", "a/b"}});
    world.exchange();
    sizes.push_back(world.sent.size());
    CHECK(world.server.requests.back()->request.fields.find("cookie") == secret);
  }
  // Another field is an index the second time, these never.
  CHECK(sizes[1] < sizes[0]);
  CHECK(sizes[2] > secret.size());
}

TEST_CASE("What a proxy of ours says of a request is no part of it, and no client can say it") {
  for (const bool is_from_proxy : {true, false}) {
    Call call;
    World world({.request = {}, .streams_max = 10, .is_from_proxy = is_from_proxy});
    world.call(call, {{"prophecy-client", "192.0.2.1"}});
    world.exchange();
    REQUIRE(world.server.requests.size() == 1);
    const Http2Stream& stream = *world.server.requests[0];
    CHECK(stream.said_by_proxy.find("prophecy-client").has_value() == is_from_proxy);
    CHECK(stream.request.fields.find("prophecy-client").has_value() != is_from_proxy);
  }
}

}  // namespace prophecy::http
