#include "pbft/transport/frame_reader.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "base/codec.hpp"

namespace prophecy::pbft {

FrameReader::FrameReader(std::size_t frame_bytes_max)
    : frame_bytes_max_(frame_bytes_max),
      buffer_(std::make_unique_for_overwrite<std::uint8_t[]>(kBaseCapacity)) {}

FrameReader::Next FrameReader::next(ByteView& frame) {
  const std::size_t available = end_ - begin_;
  if (available < kPrefixSize) return Next::need_more;
  Reader prefix({buffer_.get() + begin_, kPrefixSize});
  const std::size_t size = prefix.integer<std::uint32_t>();
  if (size == 0 || size > frame_bytes_max_) return Next::bad_length;
  if (available < kPrefixSize + size) return Next::need_more;
  frame = {buffer_.get() + begin_ + kPrefixSize, size};
  begin_ += kPrefixSize + size;
  return Next::frame;
}

std::span<std::uint8_t> FrameReader::space() {
  if (begin_ == end_) {
    begin_ = end_ = 0;
    if (capacity_ > kBaseCapacity) move_to(kBaseCapacity);
  } else if (end_ == capacity_ && begin_ == 0) {
    move_to(std::min(capacity_ * 2, std::max(kBaseCapacity, kPrefixSize + frame_bytes_max_)));
  } else if (begin_ > 0) {
    // At most one incomplete frame is left: cheap against the read that follows. The bytes that
    // it has so far are counted, and not the buffer, so the buffer does not outlast a larger frame.
    std::size_t enough = kBaseCapacity;
    while (enough <= end_ - begin_)
      enough *= 2;
    move_to(std::min(enough, capacity_));
  }
  ASSERT(end_ < capacity_);
  return {buffer_.get() + end_, capacity_ - end_};
}

void FrameReader::move_to(std::size_t capacity) {
  const std::size_t size = end_ - begin_;
  if (capacity == capacity_) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, size);
  } else {
    auto other = std::make_unique_for_overwrite<std::uint8_t[]>(capacity);
    std::memcpy(other.get(), buffer_.get() + begin_, size);
    buffer_ = std::move(other);
    capacity_ = capacity;
  }
  begin_ = 0;
  end_ = size;
}

}  // namespace prophecy::pbft
