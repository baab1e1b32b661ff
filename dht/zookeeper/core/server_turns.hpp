// `ServerTurns` chooses the server that is tried next, and how long to wait before: servers in
// turn, in an order that is drawn once; pauses that double from failure to failure, half of each
// drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.hpp"

namespace prophecy::zookeeper {

// Yields a number that is uniform in [0, bound), for a bound above 0.
using Draw = std::function<std::uint32_t(std::uint32_t bound)>;

class ServerTurns {
 public:
  // REQUIRES: servers > 0, 0 < pause_min <= pause_max.
  ServerTurns(std::size_t servers, milliseconds pause_min, milliseconds pause_max, Draw draw);

  [[nodiscard]] std::size_t server() const { return order_[turn_]; }
  // It is the next one's turn, after this pause.
  [[nodiscard]] Duration fail();
  // The server has served for a while: the next pause is a short one.
  void succeed() { pause_ = pause_min_; }

 private:
  std::vector<std::size_t> order_;
  std::size_t turn_ = 0;
  milliseconds pause_min_;
  milliseconds pause_max_;
  milliseconds pause_;
  Draw draw_;
};

}  // namespace prophecy::zookeeper
