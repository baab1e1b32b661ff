#include "measurement/input/byte_stream.hpp"

#include <catch2/catch.hpp>

namespace prophecy::measurement {

TEST_CASE("bytes are put in order, across the end of sequence numbers") {
  ByteStream stream;
  stream.begin(0xfffffffd);
  stream.add(1, "def", 0);  // 0xfffffffe is the first byte's
  CHECK(stream.take().empty());
  stream.add(0xfffffffe, "abc", 0);
  CHECK(stream.take() == "abcdef");
  stream.add(0, "cdefg", 0);  // comes again, with one byte more
  CHECK(stream.take() == "g");
  stream.end(5);
  CHECK(stream.is_over());
  CHECK_FALSE(stream.has_gap());
}

TEST_CASE("bytes that came first stay") {
  ByteStream stream;
  stream.begin(0);
  stream.add(3, "cd", 0);
  stream.add(3, "XYe", 0);
  stream.add(1, "ab", 0);
  CHECK(stream.take() == "abcde");
}

TEST_CASE("a gap is one when nothing can fill it any more") {
  ByteStream stream;
  stream.begin(0);
  stream.add(1, "ab", 0);
  stream.add(5, "ef", 0);
  CHECK(stream.take() == "ab");
  CHECK_FALSE(stream.has_gap());
  stream.end_everything();
  CHECK(stream.has_gap());

  ByteStream cut;
  cut.begin(0);
  cut.add(1, "ab", 3);  // the capture has the beginning of a packet alone
  CHECK(cut.take() == "ab");
  CHECK(cut.has_gap());

  ByteStream shorter;
  shorter.begin(0);
  shorter.end(3);
  CHECK_FALSE(shorter.is_over());
  shorter.end_everything();
  CHECK(shorter.has_gap());
}

TEST_CASE("segments far away and before the connection are none of it") {
  ByteStream stream;
  stream.add(5, "early", 0);
  stream.begin(0);
  stream.add(0x7fffff00, "far", 0);
  stream.add(1, "a", 0);
  CHECK(stream.take() == "a");
  stream.end_everything();
  CHECK_FALSE(stream.has_gap());
}

}  // namespace prophecy::measurement
