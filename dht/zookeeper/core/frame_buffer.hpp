// Cuts the bytes of a connection into frames: each is a length of four bytes, then so many bytes.
// Holds what has come of one frame and no more than was announced by it; a length beyond
// kFrameBytesMax is an error before anything is held for it.
#pragma once

#include <optional>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace prophecy::zookeeper {

class FrameBuffer {
 public:
  // Takes bytes from the front of `input`, and yields a frame when it is whole; null: `input` is
  // used up. The frame lies in the buffer until the next call.
  [[nodiscard]] Result<std::optional<ByteView>> next(ByteView& input);
  void clear();

 private:
  Bytes held_;  // with the length in front
  bool is_whole_ = false;
};

}  // namespace prophecy::zookeeper
