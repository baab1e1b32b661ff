// Which bodies give way when the room for files gets short: those of a worker that are arriving and
// have come at less than rate_min since they began, the slowest first. So nobody keeps others'
// bodies out by sending little for long; where there is room, a body may come as slowly as
// [timeouts] lets it.
//
// Single-threaded, on the worker's loop.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.hpp"

namespace prophecy::sketcher {

class SpoolSpace;

// A body that has begun to lie in a file.
class ArrivingBody {
 public:
  [[nodiscard]] virtual TimePoint began() const = 0;
  [[nodiscard]] virtual std::uint64_t spooled() const = 0;
  // It ends, and removes itself; no other body does.
  virtual void give_way() = 0;

 protected:
  ~ArrivingBody() = default;
};

class SlowBodies {
 public:
  // Before it nothing is said about how fast a body is.
  static constexpr Duration kGrace = seconds(5);

  explicit SlowBodies(std::uint64_t bytes_per_second_min)
      : bytes_per_second_min_(bytes_per_second_min) {}

  void add(ArrivingBody& body) { bodies_.push_back(&body); }
  void remove(ArrivingBody& body) { std::erase(bodies_, &body); }

  // Until the space is not short any more.
  void make_room(const SpoolSpace& space, TimePoint now);

 private:
  [[nodiscard]] double bytes_per_second(const ArrivingBody& body, TimePoint now) const;

  std::uint64_t bytes_per_second_min_;
  std::vector<ArrivingBody*> bodies_;
};

}  // namespace prophecy::sketcher
