// Cuts a byte stream into frames. The stream is read straight into the reader's buffer, many
// frames at a time, and frames are handed out as views into it. The buffer starts small, grows
// only as bytes really arrive (so that an announced length alone costs nothing), and shrinks again
// once a large frame is through. So it never has more than twice the pending bytes for long.
//
// Not thread-safe; no I/O.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/bytes.hpp"

namespace prophecy::pbft {

class FrameReader {
 public:
  static constexpr std::size_t kPrefixSize = 4;
  static constexpr std::size_t kBaseCapacity = 64 << 10;

  explicit FrameReader(std::size_t frame_bytes_max);

  enum class Next : std::uint8_t {
    frame,
    need_more,
    bad_length,  // zero, or above the bound: the stream cannot be used any more
  };
  // A frame stays valid until space().
  [[nodiscard]] Next next(ByteView& frame);

  // Where to read to; never empty. Call it when next() has said need_more.
  [[nodiscard]] std::span<std::uint8_t> space();
  void filled(std::size_t bytes) { end_ += bytes; }

  // Bytes of an incomplete frame.
  [[nodiscard]] std::size_t pending() const { return end_ - begin_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }

 private:
  void move_to(std::size_t capacity);

  std::size_t frame_bytes_max_;
  std::size_t capacity_ = kBaseCapacity;
  std::unique_ptr<std::uint8_t[]> buffer_;
  std::size_t begin_ = 0;  // of what has not been handed out
  std::size_t end_ = 0;    // of what has been read
};

}  // namespace prophecy::pbft
