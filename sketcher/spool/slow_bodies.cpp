#include "sketcher/spool/slow_bodies.hpp"

#include <algorithm>
#include <utility>

#include "sketcher/spool/spool_space.hpp"

namespace prophecy::sketcher {

double SlowBodies::bytes_per_second(const ArrivingBody& body, TimePoint now) const {
  const std::chrono::duration<double> life = now - body.began();
  return static_cast<double>(body.spooled()) / life.count();
}

void SlowBodies::make_room(const SpoolSpace& space, TimePoint now) {
  if (!space.is_short()) return;
  std::vector<std::pair<double, ArrivingBody*>> slow;
  for (ArrivingBody* body : bodies_) {
    if (now - body->began() < kGrace) continue;
    const double rate = bytes_per_second(*body, now);
    if (rate < static_cast<double>(bytes_per_second_min_)) slow.emplace_back(rate, body);
  }
  std::sort(slow.begin(), slow.end());
  for (const auto& [rate, body] : slow) {
    if (!space.is_short()) return;
    body->give_way();
  }
}

}  // namespace prophecy::sketcher
