// A node's own clock: it shows something else than the others', and runs a little faster or slower.
// Cores see nothing but it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"
#include "simulation/scenario.hpp"

namespace prophecy::simulation {

class NodeClock {
 public:
  NodeClock() = default;
  NodeClock(Duration offset, std::int64_t drift_ppm) : offset_(offset), drift_ppm_(drift_ppm) {}

  // What it shows.
  [[nodiscard]] TimePoint shown_at(TimePoint time) const {
    const Duration since_start = time.time_since_epoch();
    return time + offset_ + since_start * drift_ppm_ / kMillion;
  }
  // The first instant of the run at which it shows this or more.
  [[nodiscard]] TimePoint when_it_shows(TimePoint shown) const {
    if (shown <= shown_at(TimePoint{})) return TimePoint{};
    const Duration until = (shown - offset_).time_since_epoch();
    TimePoint time{until / (kMillion + drift_ppm_) * kMillion};  // a little too early
    while (shown_at(time) < shown) {
      const Duration missing = shown - shown_at(time);
      time += std::max(Duration(1), missing * 9 / 10);
    }
    return time;
  }

 private:
  static constexpr std::int64_t kMillion = 1'000'000;

  Duration offset_{};
  std::int64_t drift_ppm_ = 0;
};

[[nodiscard]] inline NodeClock clock_of(const Scenario& scenario, NodeId node) {
  const Ingredient* skew = scenario.find(IngredientKind::clock, node);
  return skew == nullptr ? NodeClock{} : NodeClock{skew->offset, skew->drift_ppm};
}

}  // namespace prophecy::simulation
