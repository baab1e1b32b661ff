// Bounds how many reads of a route may ask the group. A replicated read costs n times what a fast
// one does, and clients choose what they ask for: a share of the reads, with so many a second on
// top for a history that is still empty; and so many a second for each client.
//
// A client is a slot of a fixed table, chosen by a hash that no client knows: some share one.
//
// Deterministic: time comes in. Single-threaded; each worker has its own.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/clock.hpp"

namespace prophecy::sketcher {

struct SlowPathLimits {
  double share = 1;              // of the reads; 1: no bound, and per_second means nothing
  double per_second = 100;       // on top of the share
  double per_client_second = 0;  // of one client; 0: no bound

  [[nodiscard]] bool any() const { return share < 1 || per_client_second > 0; }
};

class SlowPathBudget {
 public:
  // Reads that may come at once, of the route and of one client.
  static constexpr double kBurst = 100;
  static constexpr double kClientBurst = 20;
  static constexpr std::size_t kClientSlots = 4096;  // a power of two

  SlowPathBudget(const SlowPathLimits& limits, std::uint64_t seed);

  // For each read, before take().
  void on_read();
  // Whether this client's read may ask the group now.
  [[nodiscard]] bool take(std::string_view client, TimePoint now);

 private:
  [[nodiscard]] bool take_of_client(std::string_view client, TimePoint now);
  void refill(TimePoint now);

  SlowPathLimits limits_;
  std::uint64_t seed_;
  double tokens_ = kBurst;
  TimePoint refilled_{};
  // When each slot's reads so far will have been paid for, at its rate.
  std::array<TimePoint, kClientSlots> paid_until_{};
};

}  // namespace prophecy::sketcher
