#include "dht/zookeeper/core/server_turns.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::zookeeper {

ServerTurns::ServerTurns(std::size_t servers, milliseconds pause_min, milliseconds pause_max,
                         Draw draw)
    : order_(servers),
      pause_min_(pause_min),
      pause_max_(pause_max),
      pause_(pause_min),
      draw_(std::move(draw)) {
  ASSERT(servers > 0 && pause_min > Duration::zero() && pause_min <= pause_max);
  std::iota(order_.begin(), order_.end(), 0);
  for (std::size_t left = servers; left > 1; --left) {
    std::swap(order_[left - 1], order_[draw_(static_cast<std::uint32_t>(left))]);
  }
}

Duration ServerTurns::fail() {
  turn_ = (turn_ + 1) % order_.size();
  const milliseconds half = pause_ / 2;
  const auto drawn = draw_(static_cast<std::uint32_t>((pause_ - half).count()) + 1);
  pause_ = std::min(pause_ * 2, pause_max_);
  return half + milliseconds(drawn);
}

}  // namespace prophecy::zookeeper
