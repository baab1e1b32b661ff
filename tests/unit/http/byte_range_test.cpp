#include "http/byte_range.hpp"

#include <catch2/catch.hpp>

namespace prophecy::http {
namespace {

using RangeKind = ByteRange::Kind;

struct Expected {
  std::string_view field;
  std::uint64_t length;
  RangeKind kind;
  std::uint64_t first = 0;
  std::uint64_t size = 0;
};

}  // namespace

TEST_CASE("Ranges of bytes (RFC 9110, 14.1.2)") {
  const auto expected = GENERATE(values<Expected>({
      {"bytes=0-499", 10000, RangeKind::part, 0, 500},
      {"bytes=500-999", 10000, RangeKind::part, 500, 500},
      {"bytes=-500", 10000, RangeKind::part, 9500, 500},
      {"bytes=9500-", 10000, RangeKind::part, 9500, 500},
      {"bytes=0-0", 10000, RangeKind::part, 0, 1},
      {"bytes=-1", 10000, RangeKind::part, 9999, 1},
      {"Bytes= 0-1 ", 10000, RangeKind::part, 0, 2},
      {"bytes=0-99999", 10, RangeKind::part, 0, 10},
      {"bytes=-99999", 10, RangeKind::part, 0, 10},
      {"bytes=3-99999999999999999999999", 10, RangeKind::part, 3, 7},
      {"bytes=0-0000000000000000000", 10, RangeKind::part, 0, 1},
      {"bytes=-0000000000000000000001", 10, RangeKind::part, 9, 1},
      {"bytes=10-", 10, RangeKind::unsatisfiable},
      {"bytes=99999999999999999999999-", 10, RangeKind::unsatisfiable},
      {"bytes=-0", 10, RangeKind::unsatisfiable},
      {"bytes=0-", 0, RangeKind::unsatisfiable},
      {"bytes=-5", 0, RangeKind::whole},
      {"bytes=0-1,3-4", 10, RangeKind::whole},
      {"bytes=4-3", 10, RangeKind::whole},
      {"bytes=", 10, RangeKind::whole},
      {"bytes=-", 10, RangeKind::whole},
      {"bytes=1", 10, RangeKind::whole},
      {"bytes=a-b", 10, RangeKind::whole},
      {"bytes=0x1-2", 10, RangeKind::whole},
      {"bytes=+1-2", 10, RangeKind::whole},
      {"bytes=1--2", 10, RangeKind::whole},
      {"lines=1-2", 10, RangeKind::whole},
      {"", 10, RangeKind::whole},
  }));
  CAPTURE(expected.field);
  const ByteRange range = parse_byte_range(expected.field, expected.length);
  CHECK(range.kind == expected.kind);
  CHECK(range.first == expected.first);
  CHECK(range.size == expected.size);
}

}  // namespace prophecy::http
