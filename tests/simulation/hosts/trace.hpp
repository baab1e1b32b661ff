// What happens in a run, for people: one line each with the time. Off as a rule, as most of the
// work is in the describing.
#pragma once

#include <iostream>
#include <string>

#include "simulation/hosts/scheduler.hpp"

namespace prophecy::simulation {

class Trace {
 public:
  Trace(bool on, const Scheduler& scheduler) : on_(on), scheduler_(scheduler) {}

  [[nodiscard]] bool is_on() const { return on_; }
  void line(const std::string& text) const {
    if (!on_) return;
    const auto us = std::chrono::duration_cast<microseconds>(scheduler_.now().time_since_epoch());
    const std::string fraction = std::to_string(1000 + us.count() % 1000).substr(1);
    std::string time = std::to_string(us.count() / 1000) + "." + fraction;
    time.insert(0, time.size() < 9 ? 9 - time.size() : 0, ' ');
    std::cout << time << " ms  " << text << "\n";
  }

 private:
  bool on_;
  const Scheduler& scheduler_;
};

}  // namespace prophecy::simulation
