#include "measurement/input/byte_stream.hpp"

#include <algorithm>

namespace prophecy::measurement {

void ByteStream::begin(std::uint32_t sequence) {
  if (has_begun_) return;
  has_begun_ = true;
  first_ = sequence + 1;
}

std::uint64_t ByteStream::place_of(std::uint32_t sequence) const {
  const std::uint32_t expected = first_ + static_cast<std::uint32_t>(next_);
  const auto distance = static_cast<std::int32_t>(sequence - expected);
  const std::int64_t place = static_cast<std::int64_t>(next_) + distance;
  return place < 0 ? 0 : static_cast<std::uint64_t>(place);
}

void ByteStream::add(std::uint32_t sequence, std::string_view bytes, std::size_t missing) {
  if (!has_begun_) return;
  const std::uint32_t expected = first_ + static_cast<std::uint32_t>(next_);
  const auto distance = static_cast<std::int32_t>(sequence - expected);
  // Bytes before the next one have been taken; a place far off is none of this connection.
  if (distance < 0) {
    const auto before = static_cast<std::uint64_t>(-static_cast<std::int64_t>(distance));
    const std::uint64_t taken = std::min<std::uint64_t>(before, bytes.size());
    if (taken == bytes.size()) return;
    bytes.remove_prefix(taken);
  } else if (static_cast<std::uint64_t>(distance) > kAheadBytesMax) {
    return;
  }
  const std::uint64_t place = distance < 0 ? next_ : next_ + static_cast<std::uint64_t>(distance);
  if (missing > 0) hole_ = std::min(hole_, place + bytes.size());
  if (bytes.empty()) return;
  std::string& kept = waiting_[place];
  if (kept.size() >= bytes.size()) return;
  waiting_bytes_ += bytes.size() - kept.size();
  // Bytes that came first stay.
  kept.append(bytes.substr(kept.size()));
}

void ByteStream::end(std::uint32_t sequence) {
  if (!has_begun_ || has_end_) return;
  has_end_ = true;
  end_ = place_of(sequence);
}

std::string ByteStream::take() {
  std::string bytes;
  while (!waiting_.empty() && waiting_.begin()->first <= next_) {
    auto first = waiting_.begin();
    const std::uint64_t seen = next_ - first->first;
    waiting_bytes_ -= first->second.size();
    if (seen < first->second.size()) {
      bytes.append(first->second, seen);
      next_ += first->second.size() - seen;
    }
    waiting_.erase(first);
  }
  return bytes;
}

bool ByteStream::has_gap() const {
  const bool is_short = has_end_ && next_ < end_;
  if (waiting_.empty()) return (is_cut_ && is_short) || next_ == hole_;
  return is_cut_ || waiting_bytes_ > kWaitingBytesMax || next_ == hole_;
}

}  // namespace prophecy::measurement
