#include "base/codec.hpp"

#include <catch2/catch.hpp>

namespace prophecy {

TEST_CASE("integers are little-endian") {
  Bytes bytes;
  Writer writer(bytes);
  writer.integer(std::uint8_t{0x12});
  writer.integer(std::uint16_t{0x1234});
  writer.integer(std::uint32_t{0x12345678});
  writer.integer(std::uint64_t{0x123456789abcdef0});
  writer.sized(as_bytes("hi"));
  CHECK(to_hex(bytes) ==
        "12"
        "3412"
        "78563412"
        "f0debc9a78563412"
        "020000006869");

  Reader reader(bytes);
  CHECK(reader.integer<std::uint8_t>() == 0x12);
  CHECK(reader.integer<std::uint16_t>() == 0x1234);
  CHECK(reader.integer<std::uint32_t>() == 0x12345678);
  CHECK(reader.integer<std::uint64_t>() == 0x123456789abcdef0);
  CHECK_FALSE(reader.complete());
  CHECK(as_text(reader.sized(2)) == "hi");
  CHECK(reader.complete());
  CHECK_FALSE(reader.failed());
}

TEST_CASE("a reader that has failed stays failed and yields nothing") {
  const Bytes bytes{1, 2, 3};
  Reader reader(bytes);
  CHECK(reader.integer<std::uint32_t>() == 0);
  CHECK(reader.failed());
  CHECK(reader.remaining() == 0);
  CHECK(reader.integer<std::uint8_t>() == 0);
  CHECK(reader.raw(1).empty());
  CHECK(reader.raw(0).empty());
  CHECK_FALSE(reader.complete());
  std::array<std::uint8_t, 2> fixed{9, 9};
  reader.fixed(fixed);
  CHECK(fixed == std::array<std::uint8_t, 2>{9, 9});
}

TEST_CASE("lengths are believed only within bounds") {
  Bytes bytes;
  Writer writer(bytes);
  writer.integer(std::uint32_t{0xffffffff});
  writer.raw(as_bytes("abc"));
  Reader beyond_input(bytes);
  CHECK(beyond_input.sized(0xffffffff).empty());
  CHECK(beyond_input.failed());

  bytes.clear();
  writer.sized(as_bytes("abc"));
  Reader beyond_bound(bytes);
  CHECK(beyond_bound.sized(2).empty());
  CHECK(beyond_bound.failed());
  Reader within(bytes);
  CHECK(as_text(within.sized(3)) == "abc");
  CHECK(within.complete());
}

TEST_CASE("a decoder can fail by its own judgement") {
  const Bytes bytes{1};
  Reader reader(bytes);
  CHECK(reader.integer<std::uint8_t>() == 1);
  reader.fail();
  CHECK_FALSE(reader.complete());
}

TEST_CASE("arrays of a fixed size") {
  const Bytes bytes{1, 2, 3};
  Reader reader(bytes);
  std::array<std::uint8_t, 2> fixed{};
  reader.fixed(fixed);
  CHECK(fixed == std::array<std::uint8_t, 2>{1, 2});
  CHECK(reader.remaining() == 1);
}

}  // namespace prophecy
