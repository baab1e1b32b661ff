// The frames of one connection that have not been sent. Frames are shared, never copied: a frame
// for all replicas exists once. Bounded in bytes and in number; the oldest gives way, except one
// whose first bytes are on the wire already.
//
// Key messages go before all others, in their own order, and give way last: the other side can use
// nothing behind a key that it does not have, and asks for it again and again.
//
// Not thread-safe; no I/O.
#pragma once

#include <array>
#include <deque>
#include <span>

#include <boost/asio/buffer.hpp>

#include "pbft/core/state/actions.hpp"

namespace prophecy::pbft {

class OutgoingQueue {
 public:
  OutgoingQueue(std::size_t bytes_max, std::size_t frames_max)
      : bytes_max_(bytes_max), frames_max_(frames_max) {}

  // Returns how many frames were dropped to stay within the bounds.
  std::size_t push(Frame frame);
  // Drops the frame that gives way first. False: nothing of which no byte is on the wire is left.
  bool drop_oldest();
  // Fills `out` with the unsent bytes from the front on; returns how many elements are used.
  // They stay valid until the next push() or consume().
  [[nodiscard]] std::size_t gather(std::span<boost::asio::const_buffer> out) const;
  // That many bytes went out. Returns the number of frames that are through.
  std::size_t consume(std::size_t bytes);
  // Returns how many frames were dropped.
  std::size_t clear();
  // Takes over what another queue holds.
  void take(OutgoingQueue& other);

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] std::size_t frames() const { return entries_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kPrefixSize = 4;
  struct Entry {
    std::array<std::uint8_t, kPrefixSize> prefix;
    Frame frame;
    bool is_key;
  };
  [[nodiscard]] static std::size_t size_of(const Entry& entry) {
    return kPrefixSize + entry.frame->size();
  }

  // The first of which nothing is on the wire yet; and the first of those that is no key message.
  [[nodiscard]] std::deque<Entry>::iterator unsent();
  [[nodiscard]] std::deque<Entry>::iterator behind_keys();

  std::size_t bytes_max_;
  std::size_t frames_max_;
  std::deque<Entry> entries_;
  std::size_t bytes_ = 0;       // of all entries, prefixes included
  std::size_t front_sent_ = 0;  // bytes of the front entry that are on the wire
};

}  // namespace prophecy::pbft
