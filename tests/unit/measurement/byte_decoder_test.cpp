#include "measurement/input/byte_decoder.hpp"

#include <vector>

#include <brotli/encode.h>
#include <catch2/catch.hpp>
#include <zstd.h>

#include "compressed.hpp"

namespace prophecy::measurement {
namespace {

std::string brotli(std::string_view text) {
  std::size_t size = BrotliEncoderMaxCompressedSize(text.size());
  std::string out(size, '\0');
  BrotliEncoderCompress(5, 22, BROTLI_MODE_TEXT, text.size(),
                        reinterpret_cast<const std::uint8_t*>(text.data()), &size,
                        reinterpret_cast<std::uint8_t*>(out.data()));
  out.resize(size);
  return out;
}

std::string zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

DecodeState decode(Coding coding, std::string_view input, std::size_t piece, std::size_t room,
                   std::string& out) {
  const auto decoder = make_decoder(coding);
  DecodeProgress progress;
  while (progress.state == DecodeState::more && (!input.empty() || progress.full)) {
    progress = decoder->decode(input.substr(0, piece), out, room);
    input.remove_prefix(progress.consumed);
  }
  return progress.state;
}

}  // namespace

TEST_CASE("every coding expands, however it is cut and however little room there is") {
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += "line " + std::to_string(i * i) + "\n";
  const std::vector<std::pair<Coding, std::string>> coded = {
      {Coding::gzip, deflated(text)},
      {Coding::deflate, deflated(text, 15)},
      {Coding::deflate, deflated(text, -15)},
      {Coding::brotli, brotli(text)},
      {Coding::zstd, zstd(text)},
  };
  for (const auto& [coding, bytes] : coded) {
    for (const auto& [piece, room] : {std::pair<std::size_t, std::size_t>{1 << 20, 1 << 20},
                                      {1, 64},
                                      {7, 1 << 16},
                                      {1 << 20, 100}}) {
      CAPTURE(static_cast<int>(coding), piece, room);
      std::string out;
      REQUIRE(decode(coding, bytes, piece, room, out) == DecodeState::end);
      REQUIRE(out == text);
    }
    std::string out;
    CHECK(decode(coding, std::string_view(bytes).substr(0, bytes.size() / 2), 100, 100, out) ==
          DecodeState::more);
    CHECK(out.size() < text.size());
  }
}

TEST_CASE("no coding writes more than the room it is given") {
  const std::string bomb = deflated(std::string(10 << 20, 'a'));
  std::string out;
  const auto progress = make_decoder(Coding::gzip)->decode(bomb, out, 1000);
  CHECK(progress.full);
  CHECK(out.size() == 1000);
}

TEST_CASE("bytes that are not coded fail") {
  for (const Coding coding : {Coding::gzip, Coding::brotli, Coding::zstd}) {
    std::string out;
    CHECK(decode(coding, "<!DOCTYPE html><html>", 100, 100, out) == DecodeState::failed);
  }
}

TEST_CASE("Content-Encoding names one coding, several, or none") {
  CHECK(coding_of("") == Coding::identity);
  CHECK(coding_of("identity") == Coding::identity);
  CHECK(coding_of("GZip") == Coding::gzip);
  CHECK(coding_of("x-gzip, identity") == Coding::gzip);
  CHECK(coding_of("br") == Coding::brotli);
  CHECK(coding_of("gzip, br") == Coding::unknown);
  CHECK(coding_of("dcb") == Coding::unknown);
}

}  // namespace prophecy::measurement
