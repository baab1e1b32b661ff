// `ByteStream` puts the segments of one direction of a TCP connection in order, and knows what is
// missing. Bytes that come twice are taken as they came first.
//
// No I/O. For one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace prophecy::measurement {

class ByteStream {
 public:
  // More bytes behind a hole mean that what fills it was not captured.
  static constexpr std::size_t kWaitingBytesMax = 256 << 10;
  static constexpr std::uint64_t kAheadBytesMax = 64 << 20;  // of the next byte, for a segment

  // The connection begins here: `sequence` is that of SYN.
  void begin(std::uint32_t sequence);
  [[nodiscard]] bool has_begun() const { return has_begun_; }
  // Bytes at this place, with a hole of so many bytes behind them.
  void add(std::uint32_t sequence, std::string_view bytes, std::size_t missing);
  // No byte comes from this place on: FIN, or the end of the capture (`everything`).
  void end(std::uint32_t sequence);
  void end_everything() { is_cut_ = true; }

  // The bytes that come next, in order. Empty: none are there yet.
  [[nodiscard]] std::string take();
  // Bytes are missing next, and do not come any more.
  [[nodiscard]] bool has_gap() const;
  // All was taken up to the end that the sender has set.
  [[nodiscard]] bool is_over() const { return has_end_ && next_ >= end_; }

 private:
  // The place of a sequence number, counted from the beginning: the one nearest to the next byte.
  [[nodiscard]] std::uint64_t place_of(std::uint32_t sequence) const;

  bool has_begun_ = false;
  bool has_end_ = false;
  bool is_cut_ = false;
  std::uint32_t first_ = 0;  // the sequence number of the first byte
  std::uint64_t next_ = 0;   // the place of the next byte
  std::uint64_t end_ = 0;
  std::uint64_t hole_ = UINT64_MAX;  // where bytes are missing for sure
  std::map<std::uint64_t, std::string> waiting_;
  std::size_t waiting_bytes_ = 0;
};

}  // namespace prophecy::measurement
