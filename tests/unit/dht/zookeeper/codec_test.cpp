#include <catch2/catch.hpp>

#include "dht/zookeeper/core/answer.hpp"
#include "dht/zookeeper/core/encode.hpp"
#include "dht/zookeeper/core/frame_buffer.hpp"
#include "dht/zookeeper/core/path.hpp"
#include "support/zookeeper_frames.hpp"

namespace prophecy::zookeeper {
namespace {

const std::vector<AccessRule> kWorld{AccessRule{}};

std::string hex(const Bytes& bytes) {
  return to_hex(bytes);
}

// Each shorter one and one with a byte more is malformed.
void check_exact(const Request& request, const Bytes& body) {
  REQUIRE(decode_answer(request, body).has_value());
  for (std::size_t size = 0; size < body.size(); ++size) {
    INFO("cut at " << size);
    CHECK_FALSE(decode_answer(request, ByteView(body).first(size)).has_value());
  }
  Bytes longer = body;
  longer.push_back(0);
  CHECK_FALSE(decode_answer(request, longer).has_value());
}

}  // namespace

TEST_CASE("Requests are encoded as ZooKeeper's jute file says") {
  CHECK(hex(encode_ping()) == "00000008fffffffe0000000b");
  CHECK(hex(encode_close(7)) == "0000000800000007fffffff5");
  CHECK(hex(encode_request(1, GetData{"/a", true}, kWorld)) ==
        "0000000f"
        "00000001"
        "00000004"
        "00000002"
        "2f61"
        "01");
  CHECK(hex(encode_request(2, GetChildren{"/a", false}, kWorld)) ==
        "0000000f"
        "00000002"
        "00000008"
        "00000002"
        "2f61"
        "00");
  CHECK(hex(encode_request(3, Delete{"/a", 5}, kWorld)) ==
        "00000012"
        "00000003"
        "00000002"
        "00000002"
        "2f61"
        "00000005");
  CHECK(hex(encode_request(4, SetData{"/a", to_bytes("x"), -1}, kWorld)) ==
        "00000017"
        "00000004"
        "00000005"
        "00000002"
        "2f61"
        "00000001"
        "78"
        "ffffffff");
  CHECK(hex(encode_request(5, Create{"/a", {}, true}, kWorld)) ==
        "00000031"
        "00000005"
        "00000001"
        "00000002"
        "2f61"
        "00000000"
        "00000001"
        "0000001f"
        "00000005"
        "776f726c64"
        "00000006"
        "616e796f6e65"
        "00000001");
  CHECK(hex(encode_request(5, Create{"/a"}, kWorld))
            .ends_with("616e796f6e65"
                       "00000000"));
  CHECK(hex(encode_request(6, Multi{{Check{"/a", 3}}}, kWorld)) ==
        "00000024"
        "00000006"
        "0000000e"
        "0000000d"
        "00"
        "ffffffff"
        "00000002"
        "2f61"
        "00000003"
        "ffffffff"
        "01"
        "ffffffff");
  const Bytes password(kPasswordBytes, 0xab);
  CHECK(hex(encode_hello({9, 4000, 17, password})) ==
        "0000002d"
        "00000000"
        "0000000000000009"
        "00000fa0"
        "0000000000000011"
        "00000010" +
            hex(password) + "00");
  CHECK(hex(encode_auth({"digest", "a:b"})) ==
        "0000001d"
        "fffffffc"
        "00000064"
        "00000000"
        "00000006"
        "646967657374"
        "00000003"
        "613a62");
  CHECK(hex(encode_watches(3, {.data = {"/a"}, .absent = {}, .children = {"/b"}})) ==
        "00000028"
        "fffffff8"
        "00000065"
        "0000000000000003"
        "00000001"
        "00000002"
        "2f61"
        "00000000"
        "00000001"
        "00000002"
        "2f62");
}

TEST_CASE("A welcome is taken with and without its last byte, and in no other length") {
  const Bytes whole = frames::welcome(0x1234, 4000);
  const ByteView content = ByteView(whole).subspan(4);
  const auto welcome = decode_welcome(content);
  REQUIRE(welcome.has_value());
  CHECK(welcome->session_id == 0x1234);
  CHECK(welcome->timeout_ms == 4000);
  CHECK(welcome->password ==
        decltype(welcome->password){7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7});
  CHECK(decode_welcome(content.first(content.size() - 1)).has_value());
  for (std::size_t size = 0; size + 1 < content.size(); ++size) {
    CHECK_FALSE(decode_welcome(content.first(size)).has_value());
  }
  Bytes read_only(content.begin(), content.end());
  read_only.back() = 1;
  CHECK(decode_welcome(read_only).error().kind == ErrorKind::unavailable);
  read_only.back() = 2;
  CHECK(decode_welcome(read_only).error().kind == ErrorKind::protocol);
  Bytes version(content.begin(), content.end());
  version[3] = 1;
  CHECK_FALSE(decode_welcome(version).has_value());
}

TEST_CASE("Answers are read to their end, and are of the request") {
  check_exact(Exists{"/a"}, frames::stat(3));
  check_exact(SetData{"/a"}, frames::stat(3));
  check_exact(Create{"/a"}, frames::text("/a"));
  check_exact(Sync{"/a"}, frames::text("/a"));
  check_exact(GetData{"/a"}, frames::data("text", 3));
  CHECK_FALSE(decode_answer(Create{"/a"}, frames::text("/b")).has_value());
  CHECK(decode_answer(Delete{"/a"}, Bytes{}).has_value());
  const auto stat = decode_answer(Exists{"/a"}, frames::stat(3, 99))->stat;
  CHECK(stat.created_zxid == 100);
  CHECK(stat.modified_ms == 103);
  CHECK(stat.version == 3);
  CHECK(stat.ephemeral_owner == 99);
  CHECK(stat.data_bytes == 8);
  CHECK(stat.children == 9);
  CHECK(stat.children_zxid == 10);
  CHECK(as_text(decode_answer(GetData{"/a"}, frames::data("text", 3))->data) == "text");
  // Null is empty.
  Bytes null;
  JuteWriter(null).integer(-1);
  CHECK(decode_answer(GetChildren{"/a"}, null)->children.empty());
}

TEST_CASE("A list of children holds no more than can lie in its frame") {
  Bytes body;
  JuteWriter out(body);
  out.integer(2);
  out.string("one");
  out.string("two");
  check_exact(GetChildren{"/a"}, body);
  CHECK(decode_answer(GetChildren{"/a"}, body)->children == std::vector<std::string>{"one", "two"});
  for (const std::int32_t count : {3, -2, 0x7fffffff, std::numeric_limits<std::int32_t>::min()}) {
    Bytes lie;
    JuteWriter(lie).integer(count);
    lie.insert(lie.end(), body.begin() + 4, body.end());
    CHECK_FALSE(decode_answer(GetChildren{"/a"}, lie).has_value());
  }
}

TEST_CASE("Of a transaction all steps are carried out, or one says why none is") {
  const Multi multi{{Check{"/a", 1}, Create{"/b"}, SetData{"/a"}, Delete{"/c"}}};
  Bytes done;
  frames::step(done, Operation::check, ErrorCode::ok, {});
  frames::step(done, Operation::create, ErrorCode::ok, frames::text("/b"));
  frames::step(done, Operation::set_data, ErrorCode::ok, frames::stat(2));
  frames::step(done, Operation::remove, ErrorCode::ok, {});
  frames::last_step(done);
  check_exact(multi, done);
  CHECK(decode_answer(multi, done)->steps == std::vector<ErrorCode>(4));

  const auto with = [&](const std::vector<ErrorCode>& codes) {
    Bytes body;
    for (const ErrorCode code : codes)
      frames::failed_step(body, code);
    frames::last_step(body);
    return decode_answer(multi, body);
  };
  using enum ErrorCode;
  CHECK(with({ok, node_exists, runtime_inconsistency, runtime_inconsistency})->steps[1] ==
        node_exists);
  // No step says why; a step too few, and too many.
  CHECK_FALSE(with({ok, ok, ok, ok}).has_value());
  CHECK_FALSE(with({runtime_inconsistency, ok, ok, ok}).has_value());
  CHECK_FALSE(with({ok, ok, no_node}).has_value());
  CHECK_FALSE(with({ok, ok, ok, no_node, ok}).has_value());

  Bytes half;
  frames::step(half, Operation::check, ok, {});
  for (int i = 0; i < 3; ++i)
    frames::failed_step(half, no_node);
  frames::last_step(half);
  CHECK_FALSE(decode_answer(multi, half).has_value());
  Bytes other = done;
  other[3] = 5;  // another operation in place of the check
  CHECK_FALSE(decode_answer(multi, other).has_value());
}

TEST_CASE("Events of any type are read, and one in another length is malformed") {
  const Bytes frame = frames::event(3, "/a");
  const auto headed = decode_header(ByteView(frame).subspan(4));
  REQUIRE(headed.has_value());
  CHECK(headed->header.xid == kEventXid);
  const auto event = decode_event(headed->rest);
  CHECK(event->kind == WatchEvent::Kind::data_changed);
  CHECK(event->path == "/a");
  for (std::size_t size = 0; size < headed->rest.size(); ++size) {
    CHECK_FALSE(decode_event(headed->rest.first(size)).has_value());
  }
  using Kind = WatchEvent::Kind;
  const Kind kinds[] = {Kind::other,        Kind::created,          Kind::deleted,
                        Kind::data_changed, Kind::children_changed, Kind::other};
  for (std::int32_t type = 0; type < 6; ++type) {
    const Bytes one = frames::event(type, "/a");
    CHECK(decode_event(ByteView(one).subspan(20))->kind == kinds[type]);
  }
  const Bytes odd = frames::event(77, "/a");
  CHECK(decode_event(ByteView(odd).subspan(20))->kind == WatchEvent::Kind::other);
  CHECK_FALSE(decode_header(ByteView(frame).subspan(4).first(15)).has_value());
}

TEST_CASE("Frames come whole, in pieces and several at once") {
  Bytes bytes = frames::framed(to_bytes("one"));
  for (const Bytes& more : {frames::framed({}), frames::framed(to_bytes("three"))})
    bytes.insert(bytes.end(), more.begin(), more.end());
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    FrameBuffer buffer;
    std::vector<std::string> got;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      ByteView input = ByteView(bytes).subspan(at, std::min(piece, bytes.size() - at));
      for (;;) {
        const auto frame = buffer.next(input);
        REQUIRE(frame.has_value());
        if (!*frame) break;
        got.emplace_back(as_text(**frame));
      }
      CHECK(input.empty());
    }
    CHECK(got == std::vector<std::string>{"one", "", "three"});
  }
}

TEST_CASE("A frame's length is bounded before anything is held for it") {
  const auto next = [](std::int32_t length) {
    Bytes bytes;
    JuteWriter(bytes).integer(length);
    FrameBuffer buffer;
    ByteView input(bytes);
    return buffer.next(input).has_value();
  };
  CHECK(next(static_cast<std::int32_t>(kFrameBytesMax)));
  CHECK_FALSE(next(static_cast<std::int32_t>(kFrameBytesMax) + 1));
  CHECK_FALSE(next(-1));
  CHECK_FALSE(next(0x48545450));  // "HTTP"
}

TEST_CASE("Paths are such as a server accepts") {
  for (const char* path : {"/", "/a", "/a/b", "/a/...", "/a.b"}) {
    INFO(path);
    CHECK(is_path(path));
  }
  for (const char* path :
       {"", "a", "//", "/a/", "/a//b", "/./a", "/a/..", "/a b", "/\xc3\xa4", "/a\n"}) {
    INFO(path);
    CHECK_FALSE(is_path(path));
  }
  CHECK(is_path("/" + std::string(kPathBytesMax - 1, 'a')));
  CHECK_FALSE(is_path("/" + std::string(kPathBytesMax, 'a')));
}

}  // namespace prophecy::zookeeper
