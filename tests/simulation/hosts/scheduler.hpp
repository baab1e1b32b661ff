// Virtual time: events happen in the order of their times, equal times in the order in which they
// were planned.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace prophecy::simulation {

class Scheduler {
 public:
  using Event = std::function<void()>;

  [[nodiscard]] TimePoint now() const { return now_; }

  void at(TimePoint time, Event event) {
    events_.push({std::max(time, now_), ++planned_, std::move(event)});
  }
  void after(Duration delay, Event event) { at(now_ + delay, std::move(event)); }

  // Runs the next event; false when there is none.
  bool step() {
    if (events_.empty()) return false;
    Entry entry = std::move(const_cast<Entry&>(events_.top()));
    events_.pop();
    now_ = entry.time;
    entry.event();
    return true;
  }

 private:
  struct Entry {
    TimePoint time;
    std::uint64_t number = 0;
    Event event;
    bool operator<(const Entry& other) const {
      return time != other.time ? time > other.time : number > other.number;
    }
  };

  TimePoint now_{};
  std::uint64_t planned_ = 0;
  std::priority_queue<Entry> events_;
};

}  // namespace prophecy::simulation
