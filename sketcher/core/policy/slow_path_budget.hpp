// Bounds how many reads of a route may ask the group. A replicated read costs n times what a fast
// one does, and clients choose what they ask for: a share of the reads, with so many a second on
// top for a history that is still empty; and so many a second for each client.
//
// A client is an IPv4 address or a network of IPv6. It has a slot of a fixed table, chosen by a
// hash that no client knows: some share one.
//
// Deterministic: time comes in. Single-threaded; each worker has its own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "base/clock.hpp"

namespace prophecy::sketcher {

struct SlowPathLimits {
  double share = 1;         // of the reads; 1: no bound, and per_second means nothing
  double per_second = 100;  // on top of the share
  // Of one client; 0: no bound. One client takes less than a hundredth of what a group can order,
  // and has what a new visitor needs for many pages at once (client_burst()).
  double per_client_second = 50;

  [[nodiscard]] bool any() const { return share < 1 || per_client_second > 0; }
  // Reads of one client that may come at once: those of ten seconds.
  [[nodiscard]] double client_burst() const { return std::max(20.0, 10 * per_client_second); }
};

class SlowPathBudget {
 public:
  static constexpr double kBurst = 100;              // reads of the route that may come at once
  static constexpr std::size_t kClientSlots = 4096;  // a power of two

  SlowPathBudget(const SlowPathLimits& limits, unsigned ipv6_prefix_bits, std::uint64_t seed);

  // For each read, before take().
  void on_read() {
    if (limits_.share < 1) tokens_ = std::min(kBurst, tokens_ + limits_.share);
  }
  // Whether this client's read may ask the group now.
  [[nodiscard]] bool take(std::string_view client, TimePoint now);

 private:
  [[nodiscard]] std::size_t slot_of(std::string_view client) const;
  [[nodiscard]] bool take_of_client(std::string_view client, TimePoint now);
  void refill(TimePoint now);

  SlowPathLimits limits_;
  unsigned ipv6_prefix_bits_;
  std::uint64_t seed_;
  double tokens_ = kBurst;
  TimePoint refilled_{};
  // When each slot's reads so far will have been paid for, at its rate.
  std::array<TimePoint, kClientSlots> paid_until_{};
};

}  // namespace prophecy::sketcher
