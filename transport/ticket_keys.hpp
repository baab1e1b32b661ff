// The keys of TLS session tickets, in memory that all workers share: whoever resumes a session need
// not come to the worker that began it, and a worker's replacement knows its predecessor's tickets.
// The master draws a new key now and then. The one before is still accepted, so that a ticket is
// good for one to two of these intervals; what is older is gone, and with it the means to read
// what was once recorded.
//
// One writer at a time, any number of readers, no locks: a reader that meets the writer reads
// again.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "base/bytes.hpp"

namespace prophecy::transport {

struct TicketKey {
  static constexpr std::size_t kNameBytes = 16;
  static constexpr std::size_t kBytes = kNameBytes + 32 + 32;
  std::array<std::uint8_t, kBytes> bytes{};

  // Tells keys apart; stands openly in each ticket.
  [[nodiscard]] const std::uint8_t* name() const { return bytes.data(); }
  [[nodiscard]] const std::uint8_t* cipher_key() const { return bytes.data() + kNameBytes; }
  [[nodiscard]] const std::uint8_t* mac_key() const { return bytes.data() + kNameBytes + 32; }
};

class TicketKeys {
 public:
  // `fresh` is random.
  void rotate(const TicketKey& fresh);
  // None before the first rotation, nor when one takes very long.
  [[nodiscard]] std::optional<TicketKey> current() const { return read(0); }
  [[nodiscard]] std::optional<TicketKey> previous() const { return read(1); }

 private:
  static constexpr std::size_t kWords = TicketKey::kBytes / sizeof(std::uint64_t);
  using Slot = std::array<std::atomic<std::uint64_t>, kWords>;

  // `age` rotations ago.
  [[nodiscard]] std::optional<TicketKey> read(std::uint64_t age) const;

  // Twice the number of rotations; odd while one is under way.
  std::atomic<std::uint64_t> sequence_{0};
  std::array<Slot, 2> slots_{};
};

}  // namespace prophecy::transport
