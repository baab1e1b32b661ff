#include "dht/zookeeper/core/frame_buffer.hpp"

#include <algorithm>

#include "dht/zookeeper/core/jute.hpp"
#include "dht/zookeeper/core/limits.hpp"

namespace prophecy::zookeeper {
namespace {

constexpr std::size_t kLengthBytes = 4;
// A buffer that has grown beyond it is let go with its frame.
constexpr std::size_t kKeptBytesMax = 64U << 10;

// Moves bytes until `to` has `wanted`.
void take(Bytes& to, std::size_t wanted, ByteView& from) {
  const std::size_t size = std::min(wanted - to.size(), from.size());
  to.insert(to.end(), from.begin(), from.begin() + static_cast<std::ptrdiff_t>(size));
  from = from.subspan(size);
}

}  // namespace

Result<std::optional<ByteView>> FrameBuffer::next(ByteView& input) {
  if (is_whole_) clear();
  if (held_.size() < kLengthBytes) take(held_, kLengthBytes, input);
  if (held_.size() < kLengthBytes) return std::nullopt;
  const std::int32_t length = JuteReader(ByteView(held_).first(kLengthBytes)).integer();
  if (length < 0 || static_cast<std::size_t>(length) > kFrameBytesMax) {
    return Error{ErrorKind::protocol, "ZooKeeper server: a frame of " + std::to_string(length) +
                                          " bytes, which is no length or too long"};
  }
  const std::size_t wanted = kLengthBytes + static_cast<std::size_t>(length);
  take(held_, wanted, input);
  if (held_.size() < wanted) return std::nullopt;
  is_whole_ = true;
  return ByteView(held_).subspan(kLengthBytes);
}

void FrameBuffer::clear() {
  if (held_.capacity() > kKeptBytesMax) {
    held_ = {};
  } else {
    held_.clear();
  }
  is_whole_ = false;
}

}  // namespace prophecy::zookeeper
