#include "base/bytes.hpp"

#include <array>

#include <catch2/catch.hpp>

namespace prophecy {

TEST_CASE("hexadecimal, there and back") {
  CHECK(to_hex(Bytes{0x00, 0x0f, 0xa0, 0xff}) == "000fa0ff");
  CHECK(to_hex({}) == "");
  std::array<std::uint8_t, 4> out{};
  REQUIRE(from_hex("000fA0Ff", out));
  CHECK(out == std::array<std::uint8_t, 4>{0x00, 0x0f, 0xa0, 0xff});
  for (const char* text :
       {"", "000fa0f", "000fa0ff0", "000fa0ff00", "000fa0fg", "000fa0 f", "0x0fa0ff", "-00fa0ff"}) {
    INFO(text);
    CHECK_FALSE(from_hex(text, out));
  }
}

TEST_CASE("text and bytes are views of each other") {
  const std::string text("a\0b", 3);
  CHECK(as_text(as_bytes(text)) == text);
  CHECK(to_bytes(text) == Bytes{'a', 0, 'b'});
}

}  // namespace prophecy
