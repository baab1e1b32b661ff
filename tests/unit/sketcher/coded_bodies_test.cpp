#include "sketcher/answer/coded_bodies.hpp"

#include <random>

#include <brotli/decode.h>
#include <catch2/catch.hpp>
#include <zlib.h>
#include <zstd.h>

#include "sketcher/answer/content_encoder.hpp"

namespace prophecy::sketcher {
namespace {

using http::ContentCoding;

std::string text(std::size_t size) {
  std::string made;
  for (std::size_t i = 0; made.size() < size; ++i)
    made += "line " + std::to_string(i % 97) + " of a text\n";
  made.resize(size);
  return made;
}

std::string noise(std::size_t size) {
  std::mt19937 random(static_cast<unsigned>(size));
  std::string made(size, '\0');
  for (char& c : made)
    c = static_cast<char>(random());
  return made;
}

sketch::Sketch sketch_of(std::uint8_t number) {
  sketch::Sketch sketch{};
  sketch[0] = number;
  return sketch;
}

std::string decode(ContentCoding coding, const std::string& coded, std::size_t size_max) {
  std::string plain(size_max, '\0');
  if (coding == ContentCoding::gzip) {
    z_stream stream{};
    REQUIRE(::inflateInit2(&stream, 15 + 16) == Z_OK);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(coded.data()));
    stream.avail_in = static_cast<uInt>(coded.size());
    stream.next_out = reinterpret_cast<Bytef*>(plain.data());
    stream.avail_out = static_cast<uInt>(plain.size());
    CHECK(::inflate(&stream, Z_FINISH) == Z_STREAM_END);
    plain.resize(stream.total_out);
    ::inflateEnd(&stream);
  } else if (coding == ContentCoding::brotli) {
    std::size_t size = plain.size();
    CHECK(::BrotliDecoderDecompress(
              coded.size(), reinterpret_cast<const std::uint8_t*>(coded.data()), &size,
              reinterpret_cast<std::uint8_t*>(plain.data())) == BROTLI_DECODER_RESULT_SUCCESS);
    plain.resize(size);
  } else {
    const std::size_t size =
        ::ZSTD_decompress(plain.data(), plain.size(), coded.data(), coded.size());
    CHECK(::ZSTD_isError(size) == 0);
    plain.resize(size);
  }
  return plain;
}

}  // namespace

TEST_CASE("What is coded can be decoded, and is the same each time") {
  for (const ContentCoding coding :
       {ContentCoding::gzip, ContentCoding::brotli, ContentCoding::zstd}) {
    for (const std::size_t size : {1u, 1000u, 300'000u}) {
      INFO(to_string(coding) << " of " << size);
      const std::string body = text(size);
      const auto coded = encode(coding, body, size + 100);
      REQUIRE(coded);
      CHECK(decode(coding, *coded, size + 1) == body);
      CHECK(encode(coding, body, size + 100) == coded);
      CHECK_FALSE(encode(coding, body, coded->size() - 1));
    }
  }
}

TEST_CASE("A coded body is remembered by its sketch and coding") {
  CompressionCounters counters;
  CodedBodies bodies(1 << 20, 1, counters);
  const std::string body = text(10'000);
  const auto first = bodies.find_or_make(sketch_of(1), ContentCoding::gzip, body);
  REQUIRE(first);
  CHECK(bodies.find_or_make(sketch_of(1), ContentCoding::gzip, body) == first);
  CHECK(bodies.find_or_make(sketch_of(1), ContentCoding::brotli, body) != first);
  CHECK(bodies.find_or_make(sketch_of(2), ContentCoding::gzip, body) != first);
  CHECK(counters.encoded.get() == 3);
  CHECK(counters.delivered.get() == 4);
}

TEST_CASE("A body that gets no smaller goes as it is, and is not tried again") {
  CompressionCounters counters;
  CodedBodies bodies(1 << 20, 1, counters);
  const std::string body = noise(10'000);
  for (int i = 0; i < 3; ++i)
    CHECK_FALSE(bodies.find_or_make(sketch_of(1), ContentCoding::zstd, body));
  CHECK(counters.not_smaller.get() == 1);
  CHECK(counters.delivered.get() == 0);
}

TEST_CASE("Memory is bounded, and the least recently used body goes first") {
  CompressionCounters counters;
  const std::string body = text(20'000);
  const auto coded = encode(ContentCoding::zstd, body, body.size());
  REQUIRE(coded);
  const std::size_t each = coded->capacity() + CodedBodies::kEntryBytes;
  CodedBodies bodies(3 * each, 1, counters);
  const auto use = [&](std::uint8_t number) {
    static_cast<void>(bodies.find_or_make(sketch_of(number), ContentCoding::zstd, body));
    CHECK(bodies.held_bytes() <= 3 * each);
    CHECK(counters.held_bytes.get() == bodies.held_bytes());
  };
  for (const int number : {1, 2, 3, 1, 4, 1, 3})
    use(static_cast<std::uint8_t>(number));
  CHECK(counters.encoded.get() == 4);  // 2 went for 4
  use(2);
  CHECK(counters.encoded.get() == 5);
}

TEST_CASE("Beyond the share of processor time bodies go as they are") {
  CompressionCounters counters;
  CodedBodies bodies(16 << 20, 0, counters);
  const std::string body = text(2 << 20);
  std::uint8_t number = 0;
  while (bodies.find_or_make(sketch_of(number), ContentCoding::brotli, body) && number < 255)
    ++number;
  CHECK(number > 0);
  CHECK(number < 255);
  CHECK(counters.over_budget.get() == 1);
  // What is there costs nothing.
  CHECK(bodies.find_or_make(sketch_of(0), ContentCoding::brotli, body));
}

}  // namespace prophecy::sketcher
