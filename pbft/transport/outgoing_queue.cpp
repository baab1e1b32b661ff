#include "pbft/transport/outgoing_queue.hpp"

#include <utility>

#include "base/assert.hpp"

namespace prophecy::pbft {

std::size_t OutgoingQueue::push(Frame frame) {
  const auto size = static_cast<std::uint32_t>(frame->size());
  Entry entry{{static_cast<std::uint8_t>(size), static_cast<std::uint8_t>(size >> 8),
               static_cast<std::uint8_t>(size >> 16), static_cast<std::uint8_t>(size >> 24)},
              std::move(frame)};
  bytes_ += size_of(entry);
  entries_.push_back(std::move(entry));

  std::size_t dropped = 0;
  while (bytes_ > bytes_max_ || entries_.size() > frames_max_) {
    const std::size_t oldest = front_sent_ > 0 ? 1 : 0;
    if (oldest >= entries_.size()) break;
    bytes_ -= size_of(entries_[oldest]);
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(oldest));
    ++dropped;
  }
  return dropped;
}

std::size_t OutgoingQueue::gather(std::span<boost::asio::const_buffer> out) const {
  std::size_t used = 0;
  std::size_t skip = front_sent_;
  for (const Entry& entry : entries_) {
    if (used + 2 > out.size()) break;
    if (skip < kPrefixSize) {
      out[used++] = {entry.prefix.data() + skip, kPrefixSize - skip};
      skip = 0;
    } else {
      skip -= kPrefixSize;
    }
    out[used++] = {entry.frame->data() + skip, entry.frame->size() - skip};
    skip = 0;
  }
  return used;
}

std::size_t OutgoingQueue::consume(std::size_t bytes) {
  std::size_t through = 0;
  front_sent_ += bytes;
  while (!entries_.empty() && front_sent_ >= size_of(entries_.front())) {
    const std::size_t size = size_of(entries_.front());
    front_sent_ -= size;
    bytes_ -= size;
    entries_.pop_front();
    ++through;
  }
  ASSERT(!entries_.empty() || front_sent_ == 0);
  return through;
}

std::size_t OutgoingQueue::clear() {
  const std::size_t dropped = entries_.size();
  entries_.clear();
  bytes_ = 0;
  front_sent_ = 0;
  return dropped;
}

void OutgoingQueue::take(OutgoingQueue& other) {
  ASSERT(entries_.empty() && other.front_sent_ == 0);
  entries_.swap(other.entries_);
  bytes_ = std::exchange(other.bytes_, 0);
}

}  // namespace prophecy::pbft
