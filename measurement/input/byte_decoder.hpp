// `ByteDecoder` expands compressed bytes step by step: a content coding of an answer, or a member
// of a .gz file. Its output is bounded at each step by the caller, so that a compression bomb costs
// time in proportion to what the caller is willing to take.
//
// No I/O. For one thread at a time. Its input is hostile.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace prophecy::measurement {

enum class Coding : std::uint8_t { identity, gzip, deflate, brotli, zstd, unknown };

// The coding that a Content-Encoding's value names: at most one coding beside identity, else
// `unknown`.
[[nodiscard]] Coding coding_of(std::string_view content_encoding);

enum class DecodeState : std::uint8_t {
  more,    // needs more input, or has more output: see `full`
  end,     // what was encoded is whole; the rest of the input is not part of it
  failed,  // not what the coding allows
};

struct DecodeProgress {
  DecodeState state = DecodeState::more;
  std::size_t consumed = 0;  // of the input
  bool full = false;         // the room is used up: call again, if only with an empty input
};

class ByteDecoder {
 public:
  ByteDecoder() = default;
  ByteDecoder(const ByteDecoder&) = delete;
  ByteDecoder& operator=(const ByteDecoder&) = delete;
  virtual ~ByteDecoder() = default;

  // Appends at most `room` bytes to `out`.
  [[nodiscard]] virtual DecodeProgress decode(std::string_view input, std::string& out,
                                              std::size_t room) = 0;
  // Starts on something new.
  virtual void reset() = 0;
};

// Null for `identity` and `unknown`.
[[nodiscard]] std::unique_ptr<ByteDecoder> make_decoder(Coding coding);

}  // namespace prophecy::measurement
