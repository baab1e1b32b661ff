// What a group's health is judged by; sketcher/health/ reads it from the configuration, and bounds
// it.
#pragma once

#include <cstdint>

#include "base/clock.hpp"

namespace prophecy::replica_client {

struct HealthRules {
  // Availability. In a row: so many checks that pass, or fail, change it.
  bool checked = false;  // there are checks
  std::uint32_t rise = 2;
  std::uint32_t fall = 3;
  // So many failures of requests, less the successes, take an origin out; for a pause, which
  // doubles while it does not help.
  std::uint32_t failures_max = 10;
  Duration pause = seconds(5);
  Duration pause_max = seconds(60);

  // Standing. So many answers within the window that the group's agreement refuted.
  bool quarantine = true;
  std::uint32_t disputes_max = 10;
  Duration disputes_window = seconds(60);
  Duration sit_out = seconds(30);
  Duration sit_out_max = minutes(10);

  // Slowness. An origin that answers much later than the others, in so many reads of the last
  // windows, sits out as long as one in quarantine.
  bool slow = true;
  std::uint32_t slow_max = 5;
  Duration slow_window = seconds(30);

  // Of the group: so many may be faulty.
  std::uint32_t faults = 1;
  // An origin that comes back into the draw rises to its weight within this time; zero: at once.
  Duration slow_start{};
  // So many origins stay in the draw, whatever happens: f+1 or more, so that one of them is
  // correct.
  std::uint32_t drawable_min = 2;
};

}  // namespace prophecy::replica_client
