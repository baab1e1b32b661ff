// Takes a message's body off the connection: of a declared length, in chunks, or up to the end of
// the connection (RFC 9112, 6 and 7.1). Stricter than the grammar where a peer could hide
// something or keep us busy: chunk extensions and trailers are held to their grammar, bounded and
// dropped, no white space follows a chunk's size, line ends are CR LF and nothing else, a chunk
// size has at most kChunkSizeDigitsMax digits.
//
// The caller may take out of the body what has come, as long as it goes on: the limit is for all of
// it. The verdict does not depend on how the input was cut into pieces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/parser.hpp"

namespace prophecy::http {

enum class BodyFraming : std::uint8_t { none, length, chunked, until_close };

class BodyDecoder {
 public:
  // `length` counts for BodyFraming::length only. `body_bytes_max` bounds every kind.
  void start(BodyFraming framing, std::uint64_t length, std::size_t body_bytes_max);

  // Appends to `body`. Answers need_more, complete or failed.
  [[nodiscard]] ParseProgress feed(std::string_view input, std::string& body);
  // Of a declared length: how many bytes are still to come.
  [[nodiscard]] std::uint64_t plain_bytes_left() const {
    return framing_ == BodyFraming::length ? remaining_ : 0;
  }
  // The caller has put so many of them where feed() would have. Answers need_more or complete.
  [[nodiscard]] ParseState on_plain_bytes(std::size_t size);
  [[nodiscard]] const ParseFailure& failure() const { return failure_; }
  // The peer has closed: whether that is where this body ends.
  [[nodiscard]] bool ends_with_connection() const { return framing_ == BodyFraming::until_close; }

 private:
  enum class ChunkState : std::uint8_t {
    size_first,
    size,
    extension_name_first,
    extension_name,
    extension_name_end,
    extension_value_first,
    extension_value,
    extension_quoted,
    extension_escaped,
    extension_quoted_end,
    extension_value_end,
    size_lf,
    data,
    data_cr,
    data_lf,
    trailer_first,
    trailer_name,
    trailer_value,
    trailer_lf,
    last_lf,
    done,
    failed,
  };

  [[nodiscard]] ParseProgress feed_plain(std::string_view input, std::string& body);
  [[nodiscard]] ParseProgress feed_chunked(std::string_view input, std::string& body);
  // One byte of everything but chunk data.
  [[nodiscard]] ChunkState on_chunk_framing(char c);
  [[nodiscard]] ChunkState on_size_digit(char c);
  // Of an extension or a trailer: bounded, and then as the grammar has it.
  [[nodiscard]] ChunkState on_dropped_byte(char c);
  [[nodiscard]] ChunkState on_extension(char c);
  [[nodiscard]] ChunkState on_trailer(char c);
  [[nodiscard]] ChunkState fail(std::uint16_t status, std::string_view reason);

  BodyFraming framing_ = BodyFraming::none;
  ChunkState state_ = ChunkState::done;
  std::uint64_t remaining_ = 0;  // of the body, or of the chunk
  std::size_t body_bytes_max_ = 0;
  std::uint64_t body_bytes_ = 0;   // so far, where the length was not declared
  std::size_t size_digits_ = 0;    // of the chunk's size, so far
  std::size_t dropped_bytes_ = 0;  // extensions and trailers of this message
  ParseFailure failure_;
};

}  // namespace prophecy::http
