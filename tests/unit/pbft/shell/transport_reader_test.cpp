#include <algorithm>

#include <catch2/catch.hpp>

#include "base/codec.hpp"
#include "pbft/transport/frame_reader.hpp"

using namespace prophecy;
using namespace prophecy::pbft;

namespace {

Bytes stream_of(const std::vector<Bytes>& frames) {
  Bytes stream;
  Writer writer(stream);
  for (const Bytes& frame : frames)
    writer.sized(frame);
  return stream;
}

// Feeds the stream in pieces of at most `piece` bytes, collects the frames.
std::vector<Bytes> read_in_pieces(FrameReader& reader, ByteView stream, std::size_t piece) {
  std::vector<Bytes> frames;
  while (!stream.empty()) {
    const auto space = reader.space();
    const std::size_t size = std::min({piece, stream.size(), space.size()});
    std::copy_n(stream.begin(), size, space.begin());
    reader.filled(size);
    stream = stream.subspan(size);
    ByteView frame;
    while (reader.next(frame) == FrameReader::Next::frame) {
      frames.emplace_back(frame.begin(), frame.end());
    }
  }
  return frames;
}

}  // namespace

TEST_CASE("Frames do not depend on how the stream was cut") {
  const std::vector<Bytes> frames = {Bytes(1, 'a'), Bytes(300, 'b'), Bytes(2, 'c'),
                                     Bytes(200'000, 'd'), Bytes(5, 'e')};
  const Bytes stream = stream_of(frames);
  for (const std::size_t piece : {1u, 2u, 3u, 5u, 4096u, 65'536u, 1'000'000u}) {
    FrameReader reader(1 << 20);
    CHECK(read_in_pieces(reader, stream, piece) == frames);
    CHECK(reader.pending() == 0);
  }
}

TEST_CASE("A length that is announced costs no memory before its bytes are there") {
  FrameReader reader(16 << 20);
  const Bytes prefix = {0, 0, 0xff, 0};  // nearly 16 MiB
  CHECK(read_in_pieces(reader, prefix, 4).empty());
  CHECK(reader.capacity() == FrameReader::kBaseCapacity);
  (void)reader.space();
  CHECK(reader.capacity() == FrameReader::kBaseCapacity);
}

TEST_CASE("The buffer shrinks once a large frame is through") {
  FrameReader reader(16 << 20);
  const Bytes stream = stream_of({Bytes(1 << 20, 'x')});
  CHECK(read_in_pieces(reader, stream, 50'000).size() == 1);
  CHECK(reader.capacity() > FrameReader::kBaseCapacity);
  (void)reader.space();
  CHECK(reader.capacity() == FrameReader::kBaseCapacity);
}

TEST_CASE("The buffer shrinks to what is pending behind a large frame") {
  FrameReader reader(16 << 20);
  Bytes stream = stream_of({Bytes(1 << 20, 'x'), Bytes(300'000, 'y')});
  stream.resize(stream.size() - 200'000);
  CHECK(read_in_pieces(reader, stream, 1 << 20).size() == 1);
  (void)reader.space();
  CHECK(reader.pending() == 100'004);
  CHECK(reader.capacity() < 2 * reader.pending());
  CHECK(read_in_pieces(reader, Bytes(200'000, 'y'), 1 << 20) ==
        std::vector<Bytes>{Bytes(300'000, 'y')});
}

TEST_CASE("The largest frame fits, and a larger one or an empty one ends the stream") {
  const std::size_t frame_bytes_max = 100'000;
  FrameReader reader(frame_bytes_max);
  CHECK(read_in_pieces(reader, stream_of({Bytes(frame_bytes_max, 'x')}), 7777).size() == 1);

  for (const std::uint32_t length : {0u, 100'001u, 0xffffffffu}) {
    FrameReader other(frame_bytes_max);
    Bytes prefix;
    Writer(prefix).integer(length);
    const auto space = other.space();
    std::copy(prefix.begin(), prefix.end(), space.begin());
    other.filled(prefix.size());
    ByteView frame;
    CHECK(other.next(frame) == FrameReader::Next::bad_length);
  }
}
