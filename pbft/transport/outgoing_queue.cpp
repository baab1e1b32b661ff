#include "pbft/transport/outgoing_queue.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "pbft/wire/frame_header.hpp"

namespace prophecy::pbft {

std::deque<OutgoingQueue::Entry>::iterator OutgoingQueue::unsent() {
  return entries_.begin() + (front_sent_ > 0 ? 1 : 0);
}

std::deque<OutgoingQueue::Entry>::iterator OutgoingQueue::behind_keys() {
  return std::find_if(unsent(), entries_.end(), [](const Entry& entry) { return !entry.is_key; });
}

std::size_t OutgoingQueue::push(Frame frame) {
  const auto size = static_cast<std::uint32_t>(frame->size());
  Entry entry{{static_cast<std::uint8_t>(size), static_cast<std::uint8_t>(size >> 8),
               static_cast<std::uint8_t>(size >> 16), static_cast<std::uint8_t>(size >> 24)},
              std::move(frame),
              false};
  const auto header = peek_header(*entry.frame);
  entry.is_key = header && is_key_message(header->type);
  bytes_ += size_of(entry);
  entries_.insert(entry.is_key ? behind_keys() : entries_.end(), std::move(entry));

  std::size_t dropped = 0;
  while ((bytes_ > bytes_max_ || entries_.size() > frames_max_) && drop_oldest())
    ++dropped;
  return dropped;
}

bool OutgoingQueue::drop_oldest() {
  auto oldest = behind_keys();
  if (oldest == entries_.end()) oldest = unsent();
  if (oldest == entries_.end()) return false;
  bytes_ -= size_of(*oldest);
  entries_.erase(oldest);
  return true;
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
