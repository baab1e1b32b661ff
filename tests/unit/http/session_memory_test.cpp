#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "http/http2/client_connection.hpp"
#include "http/http2/packed_words.hpp"
#include "http/http2/server_connection.hpp"

namespace prophecy::http {
namespace {

constexpr TimePoint kBegin = TimePoint(seconds(1000));

constexpr std::uint64_t kRange = 0x7f1234560000U;

std::string packed(const std::vector<std::uint64_t>& words, const WordSwap& swap = {}) {
  std::string packed;
  pack_words(std::as_bytes(std::span(words)), swap, packed);
  return packed;
}

std::vector<std::uint64_t> restored(const std::vector<std::uint64_t>& words,
                                    const WordSwap& swap = {}) {
  std::vector<std::uint64_t> back(words.size());
  unpack_words(packed(words, swap), swap, std::as_writable_bytes(std::span(back)));
  return back;
}

}  // namespace

TEST_CASE("Packed words are restored, whatever is in them") {
  std::mt19937_64 random(GENERATE(7, 8));
  for (int round = 0; round < 500; ++round) {
    std::vector<std::uint64_t> words(random() % 900);
    // Stretches of zeros, of text, of pointers, of small numbers.
    for (std::size_t i = 0; i < words.size();) {
      const std::uint64_t kind = random() % 4;
      for (std::size_t run = 1 + random() % 600; run > 0 && i < words.size(); --run, ++i) {
        words[i] = kind == 0   ? 0
                   : kind == 1 ? random() | 0x0101010101010101U
                   : kind == 2 ? random() >> 16
                               : random() % 3 << 32;
      }
    }
    REQUIRE(restored(words) == words);
    REQUIRE(restored(words, WordSwap(kRange, 1 << 16, 7)) == words);
  }
}

TEST_CASE("Packed words: zeros take next to nothing, and text little more than itself") {
  CHECK(packed(std::vector<std::uint64_t>(2560)).size() == 20);
  CHECK(packed(std::vector<std::uint64_t>(2560, 0x6161616161616161U)).size() == 2560 * 8 + 20);
  CHECK(packed({0x0000560000000012U}) == std::string("\x21\x12\x56", 3));
}

TEST_CASE("Packed words: pointers into the range are short, and no word is mistaken for one") {
  const WordSwap swap(kRange, 1 << 16, 0x555512345678U);
  CHECK(packed({kRange + 0x1230}, swap).size() == 4);
  CHECK(packed({0x555512345678U}, swap).size() == 2);
  std::vector<std::uint64_t> words;
  for (const std::uint64_t at :
       {std::uint64_t{0}, kRange, kRange + (1 << 16), std::uint64_t{0x555512345678U},
        std::uint64_t{1} << 56, (std::uint64_t{1} << 56) + (1 << 16), std::uint64_t{2} << 56,
        UINT64_MAX})
    words.insert(words.end(), {at - 1, at, at + 1});
  CHECK(restored(words, swap) == words);
}

TEST_CASE("An arena's blocks keep their bytes, apart from each other, over any number of rests") {
  SessionMemoryPool pool;
  std::mt19937_64 random(GENERATE(1, 2, 3));
  SessionMemory memory(&pool);
  REQUIRE(memory.has_arena());
  const nghttp2_mem with = memory.functions();
  std::map<std::byte*, std::vector<std::byte>> blocks;
  const auto fill = [&](void* block, std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::byte& byte : bytes)
      byte = static_cast<std::byte>(random());
    std::memcpy(block, bytes.data(), size);
    blocks[static_cast<std::byte*>(block)] = std::move(bytes);
  };
  const auto any = [&] {
    return std::next(blocks.begin(), static_cast<std::ptrdiff_t>(random() % blocks.size()));
  };
  // More at times than an arena has room for.
  for (int step = 0; step < 4000; ++step) {
    const std::size_t size = 1 + (random() % 20 == 0 ? random() % 20'000 : random() % 300);
    switch (blocks.size() < 150 ? random() % 5 : 3) {
      case 0:
      case 1: {
        void* const block = with.malloc(size, with.mem_user_data);
        REQUIRE(reinterpret_cast<std::uintptr_t>(block) % alignof(std::max_align_t) == 0);
        fill(block, size);
        break;
      }
      case 2: {
        auto* const block = static_cast<std::byte*>(with.calloc(1, size, with.mem_user_data));
        REQUIRE(
            std::all_of(block, block + size, [](std::byte byte) { return byte == std::byte{}; }));
        fill(block, size);
        break;
      }
      case 3:
        for (int i = 0; i < 4 && !blocks.empty(); ++i) {
          const auto gone = any();
          with.free(gone->first, with.mem_user_data);
          blocks.erase(gone);
        }
        break;
      default: {
        if (blocks.empty()) break;
        const auto old = any();
        const auto bytes = old->second;
        void* const block = with.realloc(old->first, size, with.mem_user_data);
        REQUIRE(std::memcmp(block, bytes.data(), std::min(size, bytes.size())) == 0);
        blocks.erase(old);
        fill(block, size);
        break;
      }
    }
    if (random() % 100 == 0) {
      memory.pack();
      CHECK(pool.packed() == 1);
      memory.unpack();
      CHECK(pool.packed() == 0);
      for (const auto& [block, bytes] : blocks)
        REQUIRE(std::memcmp(block, bytes.data(), bytes.size()) == 0);
    }
  }
  for (const auto& [block, bytes] : blocks) {
    REQUIRE(std::memcmp(block, bytes.data(), bytes.size()) == 0);
    with.free(block, with.mem_user_data);
  }
  memory.pack();
  CHECK(memory.is_whole());
}

TEST_CASE("Arenas lie apart from each other, and are given out again") {
  SessionMemoryPool pool;
  std::vector<std::unique_ptr<SessionMemory>> memories;
  std::map<std::uintptr_t, std::uintptr_t> ranges;
  for (int i = 0; i < 200; ++i) {
    memories.push_back(std::make_unique<SessionMemory>(&pool));
    const nghttp2_mem with = memories.back()->functions();
    const auto begin = reinterpret_cast<std::uintptr_t>(with.malloc(60'000, with.mem_user_data));
    CHECK(static_cast<SessionArena*>(with.mem_user_data)->elsewhere() == 0);
    ranges[begin] = begin + 60'000;
  }
  std::uintptr_t end = 0;
  for (const auto& [begin, behind] : ranges) {
    CHECK(begin >= end);
    end = behind;
  }
  CHECK(ranges.size() == 200);
  memories.clear();
  const SessionMemory one(&pool);
  CHECK(one.has_arena());
}

TEST_CASE("Where pages are larger than an arena, sessions have malloc()'s memory") {
  SessionMemoryPool pool(2 * SessionArena::kBytes);
  CHECK(pool.take() == nullptr);
  const SessionMemory memory(&pool);
  CHECK_FALSE(memory.has_arena());
}

namespace {

// A server that answers at once, and a client of it.
class Pair final : private Http2Handler, private Http2CallHandler {
 public:
  struct Stream final : Http2Stream {};
  struct Call final : Http2Call {};

  // What the server has read of the request.
  std::string ask(const std::vector<std::pair<std::string, std::string>>& fields) {
    Call call;
    Http2RequestHead head("GET", "http", "example.org", "/a");
    for (const auto& [name, value] : fields)
      head.add(name, value);
    client.call(call, head, {}, {});
    exchange();
    return std::exchange(seen_, {});
  }
  // The bytes that the client has sent.
  std::size_t exchange() {
    std::size_t sent = 0;
    for (;;) {
      std::string out;
      client.take_output(out, 1 << 20);
      sent += out.size();
      server.feed(out, kBegin);
      std::string back;
      server.take_output(back, 1 << 20);
      back.insert(0, std::exchange(answers_, {}));
      client.feed(back);
      if (out.empty() && back.empty()) return sent;
    }
  }

  SessionMemoryPool pool;
  const Http2Limits limits{};
  Http2ServerConnection server{*this, limits, "http", &pool};
  const MessageLimits limits_of_answers{};
  Http2ClientConnection client{*this, limits_of_answers};
  int answered = 0;

 private:
  Http2Stream& on_stream_opened() override {
    streams_.push_back(std::make_unique<Stream>());
    return *streams_.back();
  }
  void on_progress(Http2Stream&, std::size_t) override {}
  void on_request(Http2Stream& stream) override {
    for (std::size_t i = 0; i < stream.request.fields.size(); ++i) {
      seen_.append(stream.request.fields.name(i)).append(": ");
      seen_.append(stream.request.fields.value(i)) += '\n';
    }
    Http2Head head(200);
    head.add("etag", "\"a-tag-that-is-sent-again\"");
    static_cast<void>(server.answer(stream, head, "body", answers_, 1 << 20));
  }
  void on_refused(Http2Stream&, const ParseFailure&) override { FAIL(); }
  void on_violation(std::string_view) override { FAIL(); }
  void on_sent(Http2Stream&, std::size_t) override {}
  void on_drained(Http2Stream&) override {}
  void on_stream_closed(Http2Stream&) override {}
  void on_answer_head(Http2Call&) override {}
  void on_answer_bytes(Http2Call& call, std::string_view bytes) override {
    client.consume(call, bytes.size());
  }
  void on_call_end(Http2Call&, Http2CallEnd end) override {
    CHECK(end == Http2CallEnd::answered);
    ++answered;
  }

  std::vector<std::unique_ptr<Stream>> streams_;
  std::string seen_;
  std::string answers_;
};

}  // namespace

TEST_CASE("A connection that has rested knows the fields that it knew before") {
  Pair pair;
  pair.exchange();
  const std::vector<std::pair<std::string, std::string>> fields = {
      {"cookie", std::string(200, 'c')}, {"user-agent", "agent/1"}, {"accept", "*/*"}};
  const std::string first = pair.ask(fields);
  CHECK(first.find(std::string(200, 'c')) != std::string::npos);
  for (int round = 0; round < 50; ++round) {
    pair.server.rest();
    CHECK(pair.server.rests());
    // Others in between push the first ones out of the tables, now and then.
    if (round % 7 == 3) pair.ask({{"x", std::string(500, static_cast<char>('a' + round))}});
    REQUIRE(pair.ask(fields) == first);
    CHECK_FALSE(pair.server.rests());
  }
  CHECK(pair.answered == 58);
}

TEST_CASE("A connection that rests is packed into less than two KiB") {
  Pair pair;
  pair.exchange();
  pair.ask({{"user-agent", "agent/1"}, {"accept", "*/*"}});
  pair.server.rest();
  CHECK(pair.server.resting_bytes() > 0);
  CHECK(pair.server.resting_bytes() < 2048);
}

}  // namespace prophecy::http
